/**
 * The session for the components that show it: every tick for the picture, and at most two updates
 * per second for charts, tables and the page's frame.
 */
import { createContext, useContext } from "react";
import type { Session } from "./session";

export const LiveSession = createContext<Session | null>(null);
export const CalmSession = createContext<Session | null>(null);

export const CALM_MS = 500;

function given(session: Session | null): Session {
  if (!session) throw new Error("The session is used outside its run.");
  return session;
}

/** Changes with every tick. */
export const useLiveSession = (): Session => given(useContext(LiveSession));

export const useCalmSession = (): Session => given(useContext(CalmSession));
