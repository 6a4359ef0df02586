import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api, take } from "@/api/client";
import type { NewToken, Token, TokenCreate } from "@/api/types";
import { ProblemView } from "@/shared/server/problem";
import { Button } from "@/ui/button";
import { CopyButton } from "@/ui/clipboard";
import { Select, TextInput } from "@/ui/form";
import { Empty, Skeleton } from "@/ui/marks";
import { toast } from "@/ui/toast";
import { formatDate } from "@/units";
import styles from "./settings.module.css";

const KEY = ["tokens"];
const failed = (error: unknown) => toast(error instanceof Error ? error.message : String(error), "error");

const EXPIRIES = [
  { value: "", label: "Never expires" },
  { value: "1", label: "Expires in a day" },
  { value: "7", label: "Expires in 7 days" },
  { value: "30", label: "Expires in 30 days" },
  { value: "90", label: "Expires in 90 days" },
  { value: "365", label: "Expires in a year" },
];

/** API tokens: programs, and browsers on other machines, need one. */
export function TokensSection() {
  const client = useQueryClient();
  const [made, setMade] = useState<NewToken | null>(null);
  const tokens = useQuery({
    queryKey: KEY,
    staleTime: 0,
    queryFn: ({ signal }) => take(api.GET("/api/v1/tokens", { signal })),
  });
  const create = useMutation({
    mutationFn: (body: TokenCreate) => take(api.POST("/api/v1/tokens", { body })),
    onSuccess: async (token) => {
      setMade(token);
      await client.invalidateQueries({ queryKey: KEY });
    },
    onError: failed,
  });
  const revoke = useMutation({
    mutationFn: (id: string) => take(api.DELETE("/api/v1/tokens/{id}", { params: { path: { id } } })),
    onSuccess: async (_, id) => {
      setMade((shown) => (shown?.id === id ? null : shown));
      await client.invalidateQueries({ queryKey: KEY });
    },
    onError: failed,
  });
  return (
    <section aria-labelledby="tokens">
      <h2 id="tokens">API tokens</h2>
      <p className="muted">
        Programs send a token as <code>Authorization: Bearer …</code>; browsers on other machines log in with
        one.
      </p>
      <CreateForm busy={create.isPending} onCreate={create.mutateAsync} />
      {made && <MadeToken made={made} onClose={() => setMade(null)} />}
      {tokens.isError ? (
        <ProblemView error={tokens.error} onRetry={() => void tokens.refetch()} />
      ) : !tokens.data ? (
        <Skeleton height={96} />
      ) : tokens.data.items.length === 0 ? (
        <Empty title="No tokens yet" />
      ) : (
        <ul className={styles.tokens}>
          {tokens.data.items.map((token) => (
            <TokenRow
              key={token.id}
              token={token}
              busy={revoke.isPending}
              onRevoke={() => revoke.mutate(token.id)}
            />
          ))}
        </ul>
      )}
    </section>
  );
}

function CreateForm({
  busy,
  onCreate,
}: {
  busy: boolean;
  onCreate: (body: TokenCreate) => Promise<unknown>;
}) {
  const [name, setName] = useState("");
  const [readOnly, setReadOnly] = useState(false);
  const [days, setDays] = useState("");
  return (
    <form
      className={styles.create}
      onSubmit={(event) => {
        event.preventDefault();
        // The error was shown already; the name stays in the field.
        const expires_in_days = days === "" ? null : Number(days);
        void onCreate({ name: name.trim(), read_only: readOnly, expires_in_days }).then(
          () => setName(""),
          () => {},
        );
      }}
    >
      <TextInput
        aria-label="Name of the new token"
        placeholder="What it is for, such as nightly export"
        maxLength={120}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <label>
        <input type="checkbox" checked={readOnly} onChange={(event) => setReadOnly(event.target.checked)} />
        Read only
      </label>
      <Select aria-label="Expiry of the new token" value={days} options={EXPIRIES} onChange={setDays} />
      <Button type="submit" look="primary" disabled={busy || name.trim() === ""}>
        Create token
      </Button>
    </form>
  );
}

/** The one time that a token is shown. */
function MadeToken({ made, onClose }: { made: NewToken; onClose: () => void }) {
  return (
    <div className={styles.made} role="status">
      <p>
        <strong>Copy the token “{made.name}” now.</strong> It is not shown again.
      </p>
      <code data-testid="new-token">{made.token}</code>
      <div className={styles.actions}>
        <CopyButton small={false} text={made.token}>
          Copy token
        </CopyButton>
        <Button onClick={onClose}>Close</Button>
      </div>
    </div>
  );
}

function TokenRow({ token, busy, onRevoke }: { token: Token; busy: boolean; onRevoke: () => void }) {
  const used = token.last_used_at === null ? "never used" : `last used ${formatDate(token.last_used_at)}`;
  return (
    <li>
      <span>
        <strong>{token.name}</strong>
        <span className="muted">
          Created {formatDate(token.created_at)}, {used}
          {token.read_only && ", read only"}
          {token.expires_at !== null && `, expires ${formatDate(token.expires_at)}`}
        </span>
      </span>
      <Button
        icon="trash"
        disabled={busy}
        aria-label={`Revoke ${token.name}`}
        onClick={() => {
          if (
            window.confirm(
              `Revoke the token “${token.name}”? Programs and browsers that use it lose access at once.`,
            )
          )
            onRevoke();
        }}
      >
        Revoke
      </Button>
    </li>
  );
}
