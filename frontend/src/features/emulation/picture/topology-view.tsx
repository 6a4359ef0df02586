/**
 * The current state of the network: the load of every link in both directions, the received traffic
 * of every server, faults, and the path of a flow.
 */
import {
  type RefObject,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import { paletteOf } from "@/render/resolve";
import { useSize } from "@/render/use-size";
import { useZoom, ZOOM_STEP } from "@/render/use-zoom";
import { plural, type ThemeName } from "@/units";
import type { Detour } from "../session/detours";
import type { Tick } from "../session/frames";
import { type Broken, type Item, type Network, nodeOf, type Step } from "../session/network";
import common from "./common.module.css";
import type { Layout } from "./layouts/layout";
import { layoutOf } from "./layouts/layout-of";
import { type Hover, PictureTooltip, spokenOf } from "./picture-tooltip";
import { type PictureState, paintPicture } from "./topology-paint";
import styles from "./topology-view.module.css";
import { usePictureInput } from "./use-picture-input";

export interface TopologyHandle {
  zoomIn(): void;
  zoomOut(): void;
  fit(): void;
  toPngBlob(): Promise<Blob>;
}

export interface TopologyViewProps {
  network: Network;
  /** The positions of all items, for a picture of that size. */
  layoutFor?: (network: Network, width: number, height: number) => Layout;
  tick: Tick | null;
  broken: Broken;
  selection: Item | null;
  /** The targets of a fault being prepared. */
  targets: readonly Item[];
  path: readonly Step[];
  formerPath: readonly Step[];
  detours: readonly Detour[];
  injecting: boolean;
  theme: ThemeName;
  onSelect: (item: Item | null) => void;
  handleRef?: RefObject<TopologyHandle | null>;
}

export function TopologyView({
  network,
  layoutFor = layoutOf,
  tick,
  broken,
  selection,
  targets,
  path,
  formerPath,
  detours,
  injecting,
  theme,
  onSelect,
  handleRef,
}: TopologyViewProps) {
  const frame = useRef<HTMLDivElement>(null);
  const size = useSize(frame);
  const [hover, setHover] = useState<Hover | null>(null);
  const layout = useMemo(
    () => (size.width > 0 ? layoutFor(network, size.width, size.height) : null),
    [network, layoutFor, size],
  );
  const marked = useMarked(network, injecting ? targets : selection);
  const { canvas, zoom } = usePainted({
    frame,
    size,
    theme,
    state: useMemo(
      () =>
        layout && {
          network,
          layout,
          tick,
          broken,
          selectedNodes: marked.nodes,
          selectedLinks: marked.links,
          path,
          formerPath,
          detours,
          hover,
          injecting,
        },
      [network, layout, tick, broken, marked, path, formerPath, detours, hover, injecting],
    ),
  });
  useHandle(handleRef, canvas, zoom);

  const input = usePictureInput({ frame, network, layout, zoom, hover, setHover, selection, onSelect });

  return (
    <div
      ref={frame}
      className={common.picture}
      data-injecting={injecting || undefined}
      data-pointing={hover !== null || undefined}
      role="application"
      aria-roledescription="network picture"
      aria-label={`Network: ${plural(network.servers, "server")}, ${plural(network.switches, "switch", "switches")}, ${plural(network.links, "link")}, coloured by link rate. Full stop and comma step through them, Enter selects, Escape clears; plus, minus and 0 zoom.`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the picture takes keys as an application
      tabIndex={0}
      {...input}
    >
      <canvas ref={canvas} className={styles.layer} data-testid="live-canvas" />
      <output className="visually-hidden" aria-live="polite">
        {spokenOf(network, tick, broken, hover)}
      </output>
      {hover && layout && (
        <PictureTooltip
          network={network}
          tick={tick}
          broken={broken}
          hover={hover}
          layout={layout}
          zoom={zoom.current()}
          size={size}
        />
      )}
    </div>
  );
}

/** Nodes and links that are emphasised. */
function useMarked(network: Network, items: readonly Item[] | Item | null) {
  return useMemo(() => {
    const all = items === null ? [] : "kind" in items ? [items] : items;
    return {
      nodes: all.filter(({ kind }) => kind === "server" || kind === "switch").map((i) => nodeOf(network, i)),
      links: all.filter(({ kind }) => kind === "link").map(({ row }) => row),
    };
  }, [network, items]);
}

/** A canvas that shows a state, zoomed and panned by the pointer over `frame`. */
function usePainted({
  frame,
  size,
  theme,
  state,
}: {
  frame: RefObject<HTMLDivElement | null>;
  size: { width: number; height: number };
  theme: ThemeName;
  state: PictureState | null;
}) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const pending = useRef(0);
  const paint = useRef(() => {});
  const zoom = useZoom(
    frame,
    () => true,
    () => request(),
  );
  const request = () => {
    if (pending.current === 0)
      pending.current = requestAnimationFrame(() => {
        pending.current = 0;
        paint.current();
      });
  };

  useEffect(() => () => cancelAnimationFrame(pending.current), []);

  useLayoutEffect(() => {
    paint.current = () => {
      const element = canvas.current;
      const context = element?.getContext("2d");
      if (!element || !context || !state) return;
      const ratio = window.devicePixelRatio || 1;
      const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
      if (element.width !== width) element.width = width;
      if (element.height !== height) element.height = height;
      paintPicture(context, state, paletteOf(theme), zoom.current(), ratio);
    };
    // At once: a frame's delay would show in the time a tick takes.
    paint.current();
  }, [state, size, theme, zoom]);
  return { canvas, zoom };
}

/** The methods that the picture offers to other components. */
function useHandle(
  handleRef: RefObject<TopologyHandle | null> | undefined,
  canvas: RefObject<HTMLCanvasElement | null>,
  zoom: ReturnType<typeof useZoom>,
): void {
  useImperativeHandle(
    handleRef,
    () => ({
      zoomIn: () => zoom.zoomBy(ZOOM_STEP),
      zoomOut: () => zoom.zoomBy(1 / ZOOM_STEP),
      fit: () => zoom.reset(),
      toPngBlob: () =>
        new Promise((resolve, reject) =>
          canvas.current?.toBlob(
            (blob) => (blob ? resolve(blob) : reject(new Error("No picture."))),
            "image/png",
          ),
        ),
    }),
    [zoom, canvas],
  );
}
