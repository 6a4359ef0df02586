/** The options of an export; loaded when a format with options is offered. */
import type { ExportFormat } from "@/api/types";
import { Field, NumberInput, Select } from "@/ui/form";
import type { ExportOptions } from "./use-export";

/** Labels on the largest stock; the server checks against the plan's stock. */
const MAX_FIRST_LABEL = 189;

export default function ExportOptionFields({
  format,
  saved,
  value,
  onChange,
}: {
  format: ExportFormat;
  saved: boolean;
  value: ExportOptions;
  onChange: (value: ExportOptions) => void;
}) {
  const set = (name: string, text: string | null) => {
    const { [name]: _, ...others } = value;
    onChange(text === null ? others : { ...others, [name]: text });
  };
  const takes = (name: string) => format.options.includes(name);
  return (
    <>
      {takes("first_label") && (
        <Field label="First free label of the sheet" controlWidth={96}>
          {({ id }) => (
            <NumberInput
              id={id}
              value={value.first_label ? Number(value.first_label) : null}
              onChange={(first) => set("first_label", first === null ? null : String(first))}
              integer
              optional
              min={1}
              max={MAX_FIRST_LABEL}
              placeholder="1"
            />
          )}
        </Field>
      )}
      {takes("codes") && (
        <Field label="QR codes on labels" controlWidth={160}>
          {({ id }) => (
            <Select
              id={id}
              value={value.codes ?? ""}
              options={[
                { value: "", label: "Cable ID" },
                ...(saved ? [{ value: "link", label: "Link to crew mode" }] : []),
                { value: "none", label: "None" },
              ]}
              onChange={(codes) => set("codes", codes || null)}
            />
          )}
        </Field>
      )}
      {takes("printer") && (
        <Field label="Label printer" controlWidth={160}>
          {({ id }) => (
            <Select
              id={id}
              value={value.printer ?? ""}
              options={[
                { value: "", label: "Any" },
                { value: "brady", label: "Brady Workstation" },
                { value: "brother", label: "Brother P-touch Editor" },
                { value: "dymo", label: "DYMO Connect" },
              ]}
              onChange={(printer) => set("printer", printer || null)}
            />
          )}
        </Field>
      )}
      {takes("solid") && (
        <Field label="3D bodies" controlWidth={24}>
          {({ id }) => (
            <input
              id={id}
              type="checkbox"
              checked={value.solid === "true"}
              onChange={(event) => set("solid", event.target.checked ? "true" : null)}
            />
          )}
        </Field>
      )}
    </>
  );
}
