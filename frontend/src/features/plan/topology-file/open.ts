/** The dialog for networks of other programs: whether it is open, and its file. */
import { create } from "zustand";
import { textOf } from "@/ui/file-text";

interface TopologyFile {
  isOpen: boolean;
  file: File | null;
}

export const useTopologyFile = create<TopologyFile>(() => ({ isOpen: false, file: null }));

export const openTopologyFile = (file: File | null = null): void =>
  useTopologyFile.setState({ isOpen: true, file });

/**
 * Whether a dropped file is a network and not a plan: a plan is JSON, and neither NetBox's nor
 * lldpctl's.
 */
export async function isNetwork(file: File): Promise<boolean> {
  const head = await textOf(file.slice(0, 4096));
  if (/^\uFEFF?\s*[{[]/.test(head)) return /_terminations"|"lldp"/.test(head);
  return !/\.(json|txt)$/i.test(file.name) || /^\s*(<|source|topology\s*:|(di)?graph\b)/im.test(head);
}
