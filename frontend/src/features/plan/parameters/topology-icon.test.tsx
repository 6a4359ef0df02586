import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { EXAMPLES } from "@/shared/plans/examples";
import { TopologyIcon } from "./topology-icon";

test("each family has a different picture: add a missing one to DRAWINGS", () => {
  const picture = (family: string) => renderToStaticMarkup(<TopologyIcon family={family} />);
  const families = EXAMPLES.map(({ spec }) => spec.topology.family);
  const undrawn = families.filter((family) => family !== "tree" && picture(family) === picture("none"));
  expect(undrawn).toEqual([]);
});
