import journeys from "./playwright.config";

// `npm run pictures`: takes the README's pictures again, from the real program as the journeys
// drive it.
export default { ...journeys, testDir: "pictures" };
