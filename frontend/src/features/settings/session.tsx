import { useQuery } from "@tanstack/react-query";
import { serverPath } from "@/api/base";
import { api, setToken, take } from "@/api/client";
import { ProblemView } from "@/shared/server/problem";
import { Button } from "@/ui/button";
import { Skeleton } from "@/ui/marks";

interface Session {
  needed: boolean;
  logged_in: boolean;
  token: string | null;
}

/** The user of this session. */
export function sessionText({ needed, logged_in, token }: Session): string {
  if (!needed) return "Only this machine can reach this server. It needs no login.";
  const who = token === null ? "the token from the server’s configuration" : `the token “${token}”`;
  return logged_in ? `Logged in with ${who}.` : `This tab uses ${who}.`;
}

export function SessionSection() {
  const session = useQuery({
    queryKey: ["session"],
    queryFn: ({ signal }) => take(api.GET("/api/v1/session", { signal })),
  });
  return (
    <section aria-labelledby="session">
      <h2 id="session">Session</h2>
      {session.isError ? (
        <ProblemView error={session.error} onRetry={() => void session.refetch()} />
      ) : !session.data ? (
        <Skeleton height={28} />
      ) : (
        <>
          <p>{sessionText(session.data)}</p>
          {session.data.needed && (
            // A plain form: the answer is the login page.
            <form method="post" action={serverPath("/logout")} onSubmit={() => setToken(null)}>
              <Button type="submit">Log out</Button>
            </form>
          )}
        </>
      )}
    </section>
  );
}
