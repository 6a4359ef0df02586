import { expect, test } from "vitest";
import { EventParser } from "./events";

const TEXT =
  ': a run\'s frames\n\nid: 1\nevent: state\ndata: {"state":"running"}\n\nevent: progress\r\ndata: {"a":\r\ndata: 1}\r\n\r\ndata: bare\n\nid: 2\n\n';

const EVENTS = [
  { id: "1", event: "state", data: '{"state":"running"}' },
  { id: null, event: "progress", data: '{"a":\n1}' },
  { id: null, event: "message", data: "bare" },
];

test("events come out whole however the text is cut", () => {
  for (let size = 1; size <= TEXT.length; size++) {
    const parser = new EventParser();
    const events = [];
    for (let at = 0; at < TEXT.length; at += size) events.push(...parser.feed(TEXT.slice(at, at + size)));
    expect(events, `in pieces of ${size}`).toEqual(EVENTS);
  }
});

test("what is not finished is not an event", () => {
  expect(new EventParser().feed("id: 3\ndata: half")).toEqual([]);
});
