/** The guide of the first minute: its line, and what its frame stands around. */
import { expect, type Locator, type Page } from "@playwright/test";

export const guide = (page: Page): Locator => page.getByRole("region", { name: "First minute" });

/** The frame of the guide stands around this control. */
export async function pointsAt(page: Page, control: Locator): Promise<void> {
  await expect
    .poll(async () => {
      const [frame, box] = [await page.getByTestId("guide-frame").boundingBox(), await control.boundingBox()];
      if (!frame || !box) return "nowhere";
      const inside =
        frame.x <= box.x &&
        frame.y <= box.y &&
        frame.x + frame.width >= box.x + box.width - 1 &&
        frame.y + frame.height >= box.y + box.height - 1;
      return inside && frame.width < box.width + 20 ? "there" : "elsewhere";
    })
    .toBe("there");
}
