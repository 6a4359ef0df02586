/** Gives a test the engine's catalogue of fault kinds, which the page loads from the API. */
import { setFaultKinds } from "../fault-kinds";
import FAULT_KINDS from "./fault-kinds.json";

setFaultKinds(FAULT_KINDS as Parameters<typeof setFaultKinds>[0]);
