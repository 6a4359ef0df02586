import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { EXAMPLES } from "../../shared/examples";
import { TopologyIcon } from "./topology-icon";

test("each family has a picture of its own: a missing one is added to DRAWINGS", () => {
  const picture = (family: string) => renderToStaticMarkup(<TopologyIcon family={family} />);
  const families = EXAMPLES.map(({ spec }) => spec.topology.family);
  const undrawn = families.filter((family) => family !== "tree" && picture(family) === picture("none"));
  expect(undrawn).toEqual([]);
});
