/** The parameters of a custom topology: its size, and a button to replace its file. */
import { isObject, type TopologySpec } from "@/shared/plans/spec";
import { Button } from "@/ui/button";
import { plural } from "@/units";
import styles from "./dialog.module.css";
import { openTopologyFile } from "./open";

export default function CustomSummary({ topology }: { topology: TopologySpec }) {
  const nodes = Array.isArray(topology.nodes) ? topology.nodes : [];
  const links = Array.isArray(topology.links) ? topology.links : [];
  const servers = nodes.filter((node) => isObject(node) && node.role === "server").length;
  return (
    <div className={styles.body}>
      <p>
        {plural(servers, "server")}, {plural(nodes.length - servers, "switch", "switches")},{" "}
        {plural(links.length, "link")}
      </p>
      <div>
        <Button icon="up" onClick={() => openTopologyFile()}>
          Replace file…
        </Button>
      </div>
    </div>
  );
}
