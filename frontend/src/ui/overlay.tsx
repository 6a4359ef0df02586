/** Menus, popovers and dialogs: react-aria's focus handling in the page's own clothes. */
import type { CSSProperties, ReactNode } from "react";
import {
  Menu as AriaMenu,
  MenuItem as AriaMenuItem,
  Dialog,
  Header,
  Heading,
  MenuSection,
  MenuTrigger,
  Modal,
  ModalOverlay,
  Popover,
  Separator,
} from "react-aria-components";
import { IconButton } from "./button";
import { Icon, type IconName } from "./icon";
import styles from "./overlay.module.css";

export { Button as TriggerButton, DialogTrigger } from "react-aria-components";

export interface MenuEntry {
  id: string;
  label: string;
  hint?: string;
  icon?: IconName;
  trailing?: ReactNode;
  href?: string;
  disabled?: boolean;
  onAction?: () => void;
}

export interface MenuGroup {
  title?: string;
  entries: MenuEntry[];
}

/** `trigger` must be a `TriggerButton`. */
export function Menu({ trigger, groups, label }: { trigger: ReactNode; groups: MenuGroup[]; label: string }) {
  return (
    <MenuTrigger>
      {trigger}
      <Popover className={styles.popover} placement="bottom end" offset={4}>
        <AriaMenu className={styles.menu} aria-label={label}>
          {groups.map((group, at) => (
            <MenuSection key={group.title ?? at}>
              {at > 0 && !group.title && <Separator className={styles.separator} />}
              {group.title && <Header className={styles.heading}>{group.title}</Header>}
              {group.entries.map((entry) => (
                <AriaMenuItem
                  key={entry.id}
                  id={entry.id}
                  textValue={entry.label}
                  className={styles.item ?? ""}
                  href={entry.href}
                  isDisabled={entry.disabled}
                  onAction={entry.onAction}
                >
                  {entry.icon && <Icon name={entry.icon} />}
                  <span className={styles.itemText}>
                    {entry.label}
                    {entry.hint && <div className="muted">{entry.hint}</div>}
                  </span>
                  {entry.trailing}
                </AriaMenuItem>
              ))}
            </MenuSection>
          ))}
        </AriaMenu>
      </Popover>
    </MenuTrigger>
  );
}

/** Inside a `DialogTrigger`, after its `TriggerButton`. */
export function PopoverPanel({
  label,
  children,
  width = 320,
}: {
  label: string;
  children: ReactNode | ((close: () => void) => ReactNode);
  width?: number;
}) {
  return (
    <Popover className={styles.popover} placement="bottom end" offset={4} style={{ width }}>
      <Dialog aria-label={label} style={{ outline: "none" }}>
        {typeof children === "function" ? ({ close }) => children(close) : children}
      </Dialog>
    </Popover>
  );
}

/** A modal dialog: Escape and a click outside close it. */
export function ModalDialog({
  title,
  isOpen,
  onClose,
  width = 560,
  bare,
  children,
}: {
  title: string;
  isOpen: boolean;
  onClose: () => void;
  width?: number;
  /** No header: the content brings its own; `title` then only names the dialog. */
  bare?: boolean;
  children: ReactNode;
}) {
  return (
    <ModalOverlay
      className={styles.scrim}
      isOpen={isOpen}
      onOpenChange={(open) => !open && onClose()}
      isDismissable
    >
      <Modal className={styles.modal} style={{ "--dialog-width": `${width}px` } as CSSProperties}>
        <Dialog className={styles.dialog} aria-label={bare ? title : undefined}>
          {bare ? (
            children
          ) : (
            <>
              <div className={styles.dialogHead}>
                <Heading slot="title" className={styles.dialogTitle}>
                  {title}
                </Heading>
                <IconButton icon="close" label="Close" onClick={onClose} />
              </div>
              <div className={styles.dialogBody}>{children}</div>
            </>
          )}
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}
