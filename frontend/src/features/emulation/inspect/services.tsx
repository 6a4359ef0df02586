/**
 * The services of a server: during the run, messages to them, their answers and counters; in the
 * past, the recorded messages.
 */
import { useMutation, useQuery } from "@tanstack/react-query";
import { useId, useMemo, useState } from "react";
import { api, take } from "@/api/client";
import type { components } from "@/api/schema";
import { Button } from "@/ui/button";
import { ColumnHeads } from "@/ui/column-heads";
import { Field, Section, Select, textAreaClass } from "@/ui/form";
import { formatCount, formatNumber, plural } from "@/units";
import shared from "../common.module.css";
import { problemText } from "../faults/break-draft";
import { type Item, type Network, nodeName } from "../session/network";
import type { Session } from "../session/session";
import common from "./common.module.css";
import type { InspectionSection } from "./inspection-sections";
import { countersOf } from "./service-counters";
import { type Message, talkOf } from "./service-talk";
import styles from "./services.module.css";

type Service = components["schemas"]["ServiceOption"];

interface ServicesProps {
  run: string;
  session: Session;
  network: Network;
  row: number;
  /** Nothing later than this is shown. */
  at: number;
  /**
   * The server's counters by service, as its node reports them; null in the past, where nothing can
   * be sent.
   */
  counters: InspectionSection | null;
  onSelect: (item: Item) => void;
}

export default function Services(props: ServicesProps) {
  const { run, session, network, at, counters } = props;
  const { data } = useQuery({
    queryKey: ["services", run],
    queryFn: ({ signal }) =>
      take(api.GET("/api/v1/runs/{id}/services", { params: { path: { id: run } }, signal })),
    // The protocol's and the experiment's: a run's never change.
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  const [chosen, setChosen] = useState<string | null>(null);
  const service = data?.items.find(({ name }) => name === chosen) ?? data?.items[0];
  const talk = useMemo(
    () => (service ? talkOf(network, session.events, service.name, at) : []),
    [network, session.events, service, at],
  );
  if (!service) return null;
  return (
    <Section title="Services">
      <Field label="Service">
        {({ id }) => (
          <Select
            id={id}
            value={service.name}
            options={data!.items.map(({ name, title }) => ({ value: name, label: title }))}
            onChange={setChosen}
          />
        )}
      </Field>
      <p className="muted plain">{service.description}</p>
      {counters && <MessageForm key={service.name} {...props} service={service} />}
      <Talk talk={talk} onSelect={props.onSelect} />
      {counters && <Counters section={counters} service={service.name} />}
    </Section>
  );
}

/** Writing a message; its examples fill it in. */
function MessageForm({ run, network, row, service }: ServicesProps & { service: Service }) {
  const id = useId();
  const [first] = service.messages;
  const [text, setText] = useState(first?.example ?? "");
  const [everywhere, setEverywhere] = useState(first?.to_every_server ?? false);
  const name = nodeName(network, row);
  const send = useMutation({
    mutationFn: () =>
      take(
        api.POST("/api/v1/runs/{id}/services/{service}/messages", {
          params: { path: { id: run, service: service.name } },
          // The answers arrive with the run's events.
          body: { message: text, server: everywhere ? null : name, wait_secs: 0, answers: 1 },
        }),
      ),
  });
  return (
    <form
      className={styles.form}
      aria-label="Send a message to the service"
      onSubmit={(event) => {
        event.preventDefault();
        if (text !== "") send.mutate();
      }}
    >
      <div className={styles.examples}>
        {service.messages.map(({ title, example, to_every_server }) => (
          <button
            key={example}
            type="button"
            className={common.link}
            onClick={() => {
              setText(example);
              setEverywhere(to_every_server);
            }}
          >
            {title}
          </button>
        ))}
      </div>
      <label htmlFor={id}>Message</label>
      <textarea
        id={id}
        className={`${textAreaClass} ${styles.message}`}
        rows={Math.min(6, text.split("\n").length + 1)}
        spellCheck={false}
        placeholder={service.messages.length === 0 ? "As the service’s own code reads it" : undefined}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <div className={styles.send}>
        <Select
          aria-label="Send to"
          value={everywhere ? "every" : "one"}
          options={[
            { value: "one", label: `To server ${name}` },
            { value: "every", label: "To every server" },
          ]}
          onChange={(value) => setEverywhere(value === "every")}
        />
        <Button type="submit" disabled={text === "" || send.isPending}>
          {send.isPending ? "Sending…" : "Send message"}
        </Button>
      </div>
      {send.error && (
        <p className={styles.error} role="alert">
          {problemText(send.error)}
        </p>
      )}
      {send.data && send.data.silent.length > 0 && (
        <p className={styles.error} role="status">
          {plural(send.data.silent.length, "server")} did not answer: {send.data.silent.join(", ")}
        </p>
      )}
    </form>
  );
}

function Talk({ talk, onSelect }: { talk: readonly Message[]; onSelect: (item: Item) => void }) {
  return (
    <ol className={styles.talk} aria-label="Messages and answers" data-testid="service-talk">
      {talk.length === 0 && <li className="muted plain">No messages yet.</li>}
      {talk.map(({ at, server, name, text, kind }, index) => (
        <li key={`${talk.length - index} ${at}`} data-kind={kind}>
          <span className="muted plain">
            {`${formatNumber(at, 2)}\u00a0s ${kind === "message" ? "to" : "from"} `}
            {server === null ? (
              "the service"
            ) : (
              <button
                type="button"
                className={common.link}
                onClick={() => onSelect({ kind: "server", row: server })}
              >
                {name}
              </button>
            )}
          </span>
          <code>{text}</code>
        </li>
      ))}
    </ol>
  );
}

function Counters({ section, service }: { section: InspectionSection; service: string }) {
  return (
    <table className={shared.table} aria-label="Counters of the service on this server">
      <ColumnHeads columns={["Counter on this server", { title: "Count", className: shared.number }]} />
      <tbody>
        {countersOf(section, service).map(({ name, count, reason }) => (
          <tr key={name}>
            <td>
              {name}
              {reason && <span className={styles.reason}>{reason}</span>}
            </td>
            <td className={shared.number} data-tone={reason && count > 0 ? "bad" : undefined}>
              {formatCount(count)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
