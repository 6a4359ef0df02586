import type { Finding } from "@/api/types";
import type { Json } from "@/shared/plans/spec";
import { Field, NumberInput, Select, TextInput } from "@/ui/form";
import { listText, type Parameter, parseList } from "./families";

/** One parameter of a topology: a number, a choice or a list, as the family describes it. */
export function ParameterField({
  parameter,
  value,
  resolved,
  finding,
  onChange,
}: {
  parameter: Parameter;
  value: Json | undefined;
  resolved: Json | undefined;
  finding: Finding | undefined;
  onChange: (value: Json | undefined) => void;
}) {
  const fallback = resolved ?? parameter.default;
  const title = [parameter.doc, parameter.default_doc && `Default: ${parameter.default_doc}`]
    .filter(Boolean)
    .join(" ");
  const message = finding && (finding.hint ? `${finding.message} ${finding.hint}` : finding.message);
  const letter = parameter.letter && parameter.letter !== parameter.title ? parameter.letter : undefined;
  return (
    <Field
      label={parameter.title}
      letter={letter}
      title={title}
      chosen={!parameter.required && value !== undefined}
      message={message}
      severity={finding?.severity === "warning" ? "warning" : "error"}
      controlWidth={parameter.kind === "enum" ? 140 : undefined}
    >
      {({ id, describedBy }) => {
        if (parameter.kind === "enum")
          return (
            <Select
              id={id}
              aria-describedby={describedBy}
              value={String(value ?? fallback ?? "")}
              options={(parameter.choices ?? []).map((c) => ({ value: String(c.value), label: c.title }))}
              onChange={(next) => onChange(Number(next))}
            />
          );
        if (parameter.list || parameter.kind === "list")
          return (
            <TextInput
              id={id}
              aria-describedby={describedBy}
              key={listText(value)}
              defaultValue={listText(value)}
              placeholder={listText(fallback) || "default"}
              aria-invalid={finding?.severity === "error" || undefined}
              onBlur={(event) => {
                const parsed = parseList(event.target.value);
                if (parsed !== null) onChange(parsed);
              }}
              onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
            />
          );
        return (
          <NumberInput
            id={id}
            describedBy={describedBy}
            integer={parameter.kind === "integer"}
            min={parameter.min}
            max={parameter.max}
            unit={parameter.unit && parameter.unit.length <= 4 ? parameter.unit : null}
            optional={!parameter.required}
            placeholder={fallback === undefined || fallback === null ? "all" : String(fallback)}
            value={typeof value === "number" ? value : null}
            invalid={finding?.severity === "error"}
            onChange={(next) => onChange(next ?? undefined)}
          />
        );
      }}
    </Field>
  );
}
