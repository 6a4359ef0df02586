/** The network as it is now: what every link carries each way, what every server receives, what is broken, how a flow goes. */
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
import styles from "./emulation.module.css";
import type { Tick } from "./frames";
import { type Broken, type Item, type Network, nodeOf, type Step } from "./network";
import { type Hover, PictureTooltip, spokenOf } from "./picture-tooltip";
import { type Layout, layoutOf } from "./topology-layout";
import { paintPicture } from "./topology-paint";
import { usePictureInput } from "./use-picture-input";

export interface TopologyHandle {
  zoomIn(): void;
  zoomOut(): void;
  fit(): void;
  toPngBlob(): Promise<Blob>;
}

export interface TopologyViewProps {
  network: Network;
  /** Where everything stands, in a picture of that size. */
  layoutFor?: (network: Network, width: number, height: number) => Layout;
  tick: Tick | null;
  broken: Broken;
  selection: Item | null;
  /** What is about to be broken. */
  targets: readonly Item[];
  path: readonly Step[];
  formerPath: readonly Step[];
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
  injecting,
  theme,
  onSelect,
  handleRef,
}: TopologyViewProps) {
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(frame);
  const [hover, setHover] = useState<Hover | null>(null);
  const layout = useMemo(
    () => (size.width > 0 ? layoutFor(network, size.width, size.height) : null),
    [network, layoutFor, size],
  );
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

  const marked = useMemo(() => {
    const items = injecting ? targets : selection ? [selection] : [];
    return {
      nodes: items
        .filter(({ kind }) => kind === "server" || kind === "switch")
        .map((i) => nodeOf(network, i)),
      links: items.filter(({ kind }) => kind === "link").map(({ row }) => row),
    };
  }, [network, injecting, targets, selection]);

  useLayoutEffect(() => {
    paint.current = () => {
      const element = canvas.current;
      const context = element?.getContext("2d");
      if (!element || !context || !layout) return;
      const ratio = window.devicePixelRatio || 1;
      const [width, height] = [Math.round(size.width * ratio), Math.round(size.height * ratio)];
      if (element.width !== width) element.width = width;
      if (element.height !== height) element.height = height;
      paintPicture(
        context,
        {
          network,
          layout,
          tick,
          broken,
          selectedNodes: marked.nodes,
          selectedLinks: marked.links,
          path,
          formerPath,
          hover,
          injecting,
        },
        paletteOf(theme),
        zoom.current(),
        ratio,
      );
    };
    // At once: a frame's delay would show in the time a tick takes.
    paint.current();
  }, [network, layout, size, tick, broken, marked, path, formerPath, hover, injecting, theme, zoom]);

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
    [zoom],
  );

  const input = usePictureInput({ frame, network, layout, zoom, hover, setHover, selection, onSelect });

  return (
    <div
      ref={frame}
      className={styles.picture}
      data-injecting={injecting || undefined}
      data-pointing={hover !== null || undefined}
      role="application"
      aria-roledescription="network picture"
      aria-label={`Network: ${plural(network.servers, "server")}, ${plural(network.switches, "switch", "switches")}, ${plural(network.links, "link")}, coloured by what each link carries. Full stop and comma step through them, Enter selects, Escape clears; plus, minus and 0 zoom.`}
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
