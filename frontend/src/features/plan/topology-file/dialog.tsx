/**
 * Imports a network of another program: shows the result of reading its file, with options, before
 * it is planned.
 */
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import type { ImportedTopology } from "@/api/types";
import type { TopologySpec } from "@/shared/plans/spec";
import { DecimalQuestion } from "@/shared/server/decimal-question";
import { ProblemView } from "@/shared/server/problem";
import { Button } from "@/ui/button";
import { Field, NumberInput, Select, TextInput } from "@/ui/form";
import { Icon } from "@/ui/icon";
import { Skeleton } from "@/ui/marks";
import { ModalDialog } from "@/ui/overlay";
import { useFileDrop } from "@/ui/use-file-drop";
import { formatCount, plural } from "@/units";
import { UNTITLED, usePlan } from "../state/store";
import styles from "./dialog.module.css";
import { useTopologyFile } from "./open";
import { type Answers, NO_ANSWERS, readTopology } from "./read";

const FORMATS = "GraphML, GEXF, Graphviz DOT, CSV, containerlab (YAML), NetBox cables or lldpctl (JSON)";

export default function TopologyFileDialog() {
  const { file } = useTopologyFile();
  const close = () => useTopologyFile.setState({ isOpen: false, file: null });
  return (
    <ModalDialog title="Bring your own topology" isOpen onClose={close} width={680}>
      {file ? <Reading key={`${file.name} ${file.lastModified}`} file={file} onClose={close} /> : <Choose />}
    </ModalDialog>
  );
}

function Choose() {
  const place = useRef<HTMLElement>(null);
  const over = useFileDrop(place, ([file]) => file && useTopologyFile.setState({ file }));
  return (
    <section ref={place} className={styles.drop} data-over={over || undefined} aria-label="Network file">
      <p>Drop a file with your network here: {FORMATS}.</p>
      <ChooseButton look="primary">Choose a file…</ChooseButton>
    </section>
  );
}

function ChooseButton({ look, children }: { look?: "primary"; children: string }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <Button icon="up" look={look} onClick={() => input.current?.click()}>
        {children}
      </Button>
      <input
        ref={input}
        type="file"
        hidden
        aria-label="Network file"
        onChange={(event) => {
          const file = event.target.files?.[0];
          if (file) useTopologyFile.setState({ file });
          event.target.value = "";
        }}
      />
    </>
  );
}

function Reading({ file, onClose }: { file: File; onClose: () => void }) {
  const [answers, setAnswers] = useState(NO_ANSWERS);
  const read = useQuery({
    queryKey: ["topology-file", file.name, file.size, file.lastModified, answers],
    queryFn: () => readTopology(file, answers),
    placeholderData: (before) => before,
    retry: false,
    gcTime: 0,
  });
  const imported = read.isError ? undefined : read.data;
  const plan = () => {
    if (!imported) return;
    const { history, saved, draftName, rename, replace } = usePlan.getState();
    replace({ ...history.present, topology: imported.spec as TopologySpec }, "topology-file");
    if (!saved && draftName === UNTITLED) rename(imported.name || file.name.replace(/(?<=.)\.[^.]*$/, ""));
    onClose();
  };
  return (
    <div className={styles.body}>
      {read.isPending && <Skeleton height={160} />}
      {read.isError && (
        <ProblemView error={read.error} title={`${file.name} cannot be read`}>
          <DecimalQuestion
            error={read.error}
            onAnswer={(decimal) => setAnswers((before) => ({ ...before, decimal }))}
          />
        </ProblemView>
      )}
      {imported && <Summary imported={imported} file={file} />}
      <Questions answers={answers} onChange={setAnswers} />
      {imported && <Report imported={imported} />}
      <div className={styles.orders}>
        <Button look="primary" onClick={plan} disabled={!imported || read.isFetching}>
          Plan this network
        </Button>
        <ChooseButton>Choose another file…</ChooseButton>
        <Button onClick={onClose}>Cancel</Button>
      </div>
    </div>
  );
}

function Summary({ imported, file }: { imported: ImportedTopology; file: File }) {
  const { servers, switches, links } = imported.counts;
  return (
    <div role="status">
      <p className={styles.counts}>
        <strong>
          {plural(servers, "server")}, {plural(switches, "switch", "switches")}, {plural(links, "link")}
        </strong>
      </p>
      <p className="muted">
        {file.name} · {imported.format_title}
      </p>
    </div>
  );
}

/** The user's options; a text is applied when its field loses focus or Enter is pressed. */
function Questions({ answers, onChange }: { answers: Answers; onChange: (answers: Answers) => void }) {
  const pattern = (key: "servers" | "switches", label: string, placeholder: string) => (
    <Field label={label} controlWidth={220} title="Patterns with * and ?, with commas between them">
      {({ id }) => (
        <TextInput
          id={id}
          defaultValue={answers[key]}
          placeholder={placeholder}
          maxLength={5000}
          onBlur={(event) => onChange({ ...answers, [key]: event.target.value })}
          onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
        />
      )}
    </Field>
  );
  return (
    <section aria-label="Rules" className={styles.rules}>
      {pattern("servers", "Names of servers", "as found, or web*, db*")}
      {pattern("switches", "Names of switches", "as found, or leaf*, sw?")}
      <Field label="Rate of links without one" controlWidth={220}>
        {({ id }) => (
          <NumberInput
            id={id}
            value={answers.linkGbps}
            min={0.001}
            max={1600}
            unit="Gb/s"
            optional
            placeholder="10"
            onChange={(linkGbps) => onChange({ ...answers, linkGbps })}
          />
        )}
      </Field>
      <Field label="Rates without a unit are" controlWidth={220}>
        {({ id }) => (
          <Select
            id={id}
            value={answers.rateUnit}
            options={[
              { value: "", label: "as found" },
              { value: "gbps", label: "Gb/s" },
              { value: "mbps", label: "Mb/s" },
              { value: "kbps", label: "kb/s" },
              { value: "bps", label: "bit/s" },
            ]}
            onChange={(value) => onChange({ ...answers, rateUnit: value as Answers["rateUnit"] })}
          />
        )}
      </Field>
    </section>
  );
}

function Report({ imported }: { imported: ImportedTopology }) {
  return (
    <>
      {imported.findings.map((finding) => (
        <p key={finding.code} className={styles.warning}>
          <Icon name="warning" />
          <span>
            {finding.message} {finding.hint}
          </span>
        </p>
      ))}
      <section aria-labelledby="topology-file-roles">
        <h3 id="topology-file-roles">Servers and switches</h3>
        <ul className={styles.list}>
          {imported.roles.map((role) => (
            <li key={role.rule}>
              {[
                role.servers > 0 && plural(role.servers, "server"),
                role.switches > 0 && plural(role.switches, "switch", "switches"),
              ]
                .filter(Boolean)
                .join(", ")}{" "}
              {role.title}: <span className="muted">{role.examples.join(", ")}</span>
            </li>
          ))}
        </ul>
      </section>
      <section aria-labelledby="topology-file-rates">
        <h3 id="topology-file-rates">Rates</h3>
        <ul className={styles.list}>
          {imported.rates.slice(0, 8).map((rate) => (
            <li key={`${rate.gbps} ${rate.told}`}>
              {formatCount(rate.links)} × {rate.gbps} Gb/s{rate.told ? "" : ", assumed"}
            </li>
          ))}
          {imported.rates.length > 8 && <li>and {formatCount(imported.rates.length - 8)} more rates</li>}
        </ul>
      </section>
      <Sentences title="Assumed" sentences={imported.assumed} />
      <Sentences title="Left out" sentences={imported.left_out} />
    </>
  );
}

function Sentences({ title, sentences }: { title: string; sentences: readonly string[] }) {
  if (sentences.length === 0) return null;
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <ul className={styles.list}>
        {sentences.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </section>
  );
}
