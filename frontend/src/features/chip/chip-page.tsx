import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useId, useMemo, useState } from "react";
import { ApiError, api, take } from "@/api/client";
import type { ChipTrace } from "@/api/types";
import { ProgramEditor } from "@/shared/chip/program/program-editor";
import { ProgramFile } from "@/shared/chip/program/program-file";
import { TraceView } from "@/shared/chip/trace/trace-view";
import { type ScreenRequest, useScreen } from "@/shared/server/curl";
import { ProblemView } from "@/shared/server/problem";
import { Shell } from "@/shared/shell/shell";
import { Field, NumberInput, Select, Stacked, TextInput } from "@/ui/form";
import { Skeleton } from "@/ui/marks";
import { TYPING_MS, useSettled } from "@/ui/use-settled";
import { useTitle } from "@/ui/use-title";
import styles from "./chip.module.css";
import { EXAMPLES } from "./examples";

const PORTS = Array.from({ length: 8 }, (_, port) => ({
  value: String(port),
  label: `${port} (${port < 4 ? "external" : "CPU"})`,
}));

/** `/chip`: a program and a packet on the left, the packet's path through the chip on the right. */
export default function ChipPage() {
  useTitle("Chip");
  const [input, setInput] = useState(() => inputOf(EXAMPLES[0]!.id, { server: "00", n: 4, k: 1 }));
  const settled = useSettled(input, TYPING_MS);
  const body = useMemo(
    () => ({
      program: settled.program,
      packet: settled.packet,
      in_port: settled.inPort,
      at: { spec: { family: "bcube", n: settled.n, k: settled.k }, server: settled.server },
    }),
    [settled],
  );
  const trace = useQuery({
    queryKey: ["chip", body],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => take(api.POST("/api/v1/chip/trace", { body, signal })),
  });
  useScreen(
    useMemo<ScreenRequest[]>(
      () => [
        { title: "Step the packet through the chip", method: "POST", path: "/api/v1/chip/trace", body },
        {
          title: "Check the program",
          method: "POST",
          path: "/api/v1/chip/check",
          body: { program: body.program, at: body.at },
        },
      ],
      [body],
    ),
  );
  const findings = trace.error instanceof ApiError ? trace.error.findings : [];
  return (
    <Shell>
      <div className={styles.page}>
        <h1>Chip</h1>
        <p className={styles.lead}>
          A program of ServerSwitch’s switching chip and one packet, stepped through without a run.
        </p>
        <div className={styles.columns}>
          <Inputs input={input} onInput={setInput} findings={findings} />
          <section className={styles.result} aria-label="Path of the packet" aria-busy={trace.isFetching}>
            {trace.isError && findings.length === 0 ? (
              <ProblemView error={trace.error} onRetry={() => void trace.refetch()} />
            ) : trace.isPending ? (
              <Skeleton height={236} />
            ) : (
              <Result trace={trace.isError ? null : trace.data} />
            )}
          </section>
        </div>
      </div>
    </Shell>
  );
}

interface Input {
  example: string;
  program: string;
  packet: string;
  inPort: number;
  /** The server whose address and neighbours the program reads: one of a BCube(n, k). */
  server: string;
  n: number;
  k: number;
}

function inputOf(id: string, place: Pick<Input, "server" | "n" | "k">): Input {
  const { program, packet, inPort } = EXAMPLES.find((example) => example.id === id)!;
  return { ...place, example: id, program, packet, inPort };
}

/** Matches a program that reads data of its server. */
const ASKS = /\b(my_bcube_id|nhas|dstmac|srcmac|oport|alive)\b/;

function Inputs({
  input,
  onInput,
  findings,
}: {
  input: Input;
  onInput: (input: Input) => void;
  findings: ApiError["findings"];
}) {
  const id = useId();
  const ofPacket = findings.filter((finding) => finding.where === "packet");
  const ofProgram = findings.filter((finding) => finding.where !== "packet");
  const options = EXAMPLES.map((example) => ({ value: example.id, label: example.title }));
  return (
    <section className={styles.inputs} aria-label="Program and packet">
      <Field label="Example" controlWidth={240}>
        {(ids) => (
          <Select
            id={ids.id}
            value={input.example}
            options={options}
            onChange={(next) => onInput(inputOf(next, input))}
          />
        )}
      </Field>
      <label htmlFor={`${id}-program`}>Program</label>
      <ProgramEditor
        id={`${id}-program`}
        program={input.program}
        findings={ofProgram}
        onProgram={(program) => onInput({ ...input, program })}
      />
      <ProgramFile onProgram={(program) => onInput({ ...input, program })} />
      {ASKS.test(input.program) && (
        <div className={styles.place}>
          <Stacked label="For server">
            {(serverId) => (
              <TextInput
                id={serverId}
                value={input.server}
                onChange={(event) => onInput({ ...input, server: event.target.value })}
              />
            )}
          </Stacked>
          {(["n", "k"] as const).map((name) => (
            <Stacked key={name} label={`of a BCube, ${name}`}>
              {(numberId) => (
                <NumberInput
                  id={numberId}
                  value={input[name]}
                  min={name === "n" ? 2 : 0}
                  integer
                  onChange={(value) => onInput({ ...input, [name]: value ?? input[name] })}
                />
              )}
            </Stacked>
          ))}
        </div>
      )}
      <Stacked label="Packet (hexadecimal, from the Ethernet header)">
        {(packetId) => (
          <>
            <TextInput
              id={packetId}
              className={styles.packet}
              value={input.packet}
              aria-invalid={ofPacket.length > 0 || undefined}
              aria-describedby={ofPacket.length > 0 ? `${packetId}-wrong` : undefined}
              onChange={(event) => onInput({ ...input, packet: event.target.value })}
            />
            {ofPacket.map((finding) => (
              <p key={finding.code} id={`${packetId}-wrong`} className={styles.wrong}>
                {finding.message} {finding.hint}
              </p>
            ))}
          </>
        )}
      </Stacked>
      <Field label="Arrives at port" controlWidth={140}>
        {(ids) => (
          <Select
            id={ids.id}
            value={String(input.inPort)}
            options={PORTS}
            onChange={(port) => onInput({ ...input, inPort: Number(port) })}
          />
        )}
      </Field>
    </section>
  );
}

function Result({ trace }: { trace: ChipTrace | null }) {
  return (
    <>
      <p className={styles.summary} data-outcome={trace?.outcome} role="status">
        {trace ? trace.summary : "Correct the mistakes to see the packet’s path."}
      </p>
      <TraceView trace={trace} />
    </>
  );
}
