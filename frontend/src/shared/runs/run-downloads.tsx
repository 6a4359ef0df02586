import type { Run } from "@/api/types";
import { downloadFrom } from "@/shared/server/download";
import { buttonClass } from "@/ui/button";
import { Icon } from "@/ui/icon";
import { Menu, TriggerButton } from "@/ui/overlay";

const RESULTS = [
  { format: "csv", label: "CSV", hint: "One row per point, for a spreadsheet" },
  { format: "parquet", label: "Parquet", hint: "The same, typed, for data frames" },
  { format: "json", label: "JSON", hint: "All results of all points" },
] as const;

const REPORTS = [
  { format: "html", label: "Report, HTML", hint: "One self-contained file" },
  { format: "pdf", label: "Report, PDF", hint: "For print" },
] as const;

const FLOWS = [
  { format: "csv", label: "Flows, CSV", hint: "One row per flow with its times, so far" },
  { format: "parquet", label: "Flows, Parquet", hint: "The same, typed, for data frames" },
] as const;

/**
 * The files that the server generates from a run's current results; `flows`: it also has the times
 * of each flow.
 */
export function Downloads({ run, flows = false }: { run: Run; flows?: boolean }) {
  const entry = (id: string, label: string, hint: string, path: string, name: string) => ({
    id,
    label,
    hint,
    onAction: () => void downloadFrom(path, name),
  });
  return (
    <Menu
      label="Downloads"
      trigger={
        <TriggerButton className={buttonClass()}>
          <Icon name="export" />
          Download
        </TriggerButton>
      }
      groups={[
        {
          title: "Results",
          entries: RESULTS.map(({ format, label, hint }) =>
            entry(format, label, hint, `${run.results_url}?format=${format}`, `run-${run.id}.${format}`),
          ),
        },
        ...(flows
          ? [
              {
                title: "Flows",
                entries: FLOWS.map(({ format, label, hint }) =>
                  entry(
                    `flows-${format}`,
                    label,
                    hint,
                    `/api/v1/runs/${run.id}/flows?format=${format}`,
                    `flows-${run.id}.${format}`,
                  ),
                ),
              },
            ]
          : []),
        {
          title: "Report",
          entries: REPORTS.map(({ format, label, hint }) =>
            entry(
              `report-${format}`,
              label,
              hint,
              `/api/v1/runs/${run.id}/report.${format}`,
              `run-${run.id}.${format}`,
            ),
          ),
        },
        ...(run.experiment_id
          ? [
              {
                title: "Setup",
                entries: [
                  entry(
                    "scenario",
                    "Scenario, YAML",
                    "To run it again: in CI, or opened in the form",
                    `/api/v1/runs/${run.id}/scenario`,
                    `run-${run.id}.yaml`,
                  ),
                ],
              },
            ]
          : []),
      ]}
    />
  );
}
