/**
 * The chip of one server: calls to it while packets flow, and a trace of a packet through its
 * current program.
 */
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { ApiError, api, take } from "@/api/client";
import { ProgramEditor } from "@/shared/chip/program/program-editor";
import { TraceView } from "@/shared/chip/trace/trace-view";
import { Button } from "@/ui/button";
import { Field, Section, Select, Stacked, TextInput } from "@/ui/form";
import { problemText } from "../faults/break-draft";
import styles from "./chip-program.module.css";

const PORTS = Array.from({ length: 8 }, (_, port) => ({
  value: String(port),
  label: `${port} (${port < 4 ? "external" : "CPU"})`,
}));

function Wrong({ error }: { error: Error | null }) {
  if (!error) return null;
  const [mistake] = error instanceof ApiError ? error.errors : [];
  return (
    <p className={styles.error} role="alert">
      {mistake?.message ?? problemText(error)}
    </p>
  );
}

export default function ServerChip({ run, server }: { run: string; server: string }) {
  const id = useId();
  const client = useQueryClient();
  const params = { path: { id: run, name: server } };
  const [calls, setCalls] = useState("");
  const [packet, setPacket] = useState("");
  const [port, setPort] = useState("0");
  const call = useMutation({
    mutationFn: () =>
      take(api.POST("/api/v1/runs/{id}/servers/{name}/chip/calls", { params, body: { calls } })),
    onSuccess: () => client.invalidateQueries({ queryKey: ["server", run, server] }),
  });
  const trace = useMutation({
    mutationFn: () =>
      take(
        api.POST("/api/v1/runs/{id}/servers/{name}/chip/trace", {
          params,
          body: { packet, port: Number(port) },
        }),
      ),
  });
  return (
    <Section title="Chip of this server">
      <details className={styles.program}>
        <summary>Call it, and step a packet through it</summary>
        <label htmlFor={id} className="muted plain">
          Calls like SetLookupTable(…) over the server’s program: all in effect at once, or none.
        </label>
        <ProgramEditor
          id={id}
          program={calls}
          findings={[]}
          onProgram={(text) => {
            call.reset();
            setCalls(text);
          }}
        />
        <div className={styles.actions}>
          <Button disabled={calls.trim() === "" || call.isPending} onClick={() => call.mutate()}>
            {call.isPending ? "Calling…" : "Call"}
          </Button>
        </div>
        {call.isSuccess && (
          <p className="muted plain" role="status">
            In effect.
          </p>
        )}
        <Wrong error={call.error} />
        <Stacked label="Packet (hexadecimal, from the Ethernet header)">
          {(packetId) => (
            <TextInput id={packetId} value={packet} onChange={(event) => setPacket(event.target.value)} />
          )}
        </Stacked>
        <Field label="Arrives at port" controlWidth={140}>
          {(ids) => <Select id={ids.id} value={port} options={PORTS} onChange={setPort} />}
        </Field>
        <div className={styles.actions}>
          <Button disabled={packet.trim() === "" || trace.isPending} onClick={() => trace.mutate()}>
            {trace.isPending ? "Stepping…" : "Step through"}
          </Button>
        </div>
        <Wrong error={trace.error} />
        {trace.data && (
          <>
            <p role="status">{trace.data.summary}</p>
            <TraceView trace={trace.data} />
          </>
        )}
      </details>
    </Section>
  );
}
