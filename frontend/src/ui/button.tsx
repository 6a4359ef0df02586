import type { ButtonHTMLAttributes, Ref } from "react";
import styles from "./button.module.css";
import { cx } from "./cx";
import { Icon, type IconName } from "./icon";

export type ButtonLook = "plain" | "primary" | "quiet" | "link";

/** The classes of a button, for links and third-party buttons that must look like one. */
export function buttonClass(look: ButtonLook = "plain", small = false, icon = false): string {
  return cx(styles.button, look !== "plain" && styles[look], small && styles.small, icon && styles.icon);
}

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: ButtonLook;
  small?: boolean;
  icon?: IconName;
  ref?: Ref<HTMLButtonElement>;
}

export function Button({ look = "plain", small, icon, className, children, ...rest }: ButtonProps) {
  return (
    <button type="button" {...rest} className={cx(buttonClass(look, small), className)}>
      {icon && <Icon name={icon} size={small ? 14 : 16} />}
      {children}
    </button>
  );
}

/** A button of one icon; `label` is its accessible name and its tooltip. */
export function IconButton({
  label,
  icon,
  look = "quiet",
  small,
  className,
  ...rest
}: Omit<ButtonProps, "children" | "icon"> & { label: string; icon: IconName }) {
  return (
    <button
      type="button"
      title={label}
      aria-label={label}
      {...rest}
      className={cx(buttonClass(look, small, true), className)}
    >
      <Icon name={icon} size={small ? 14 : 16} />
    </button>
  );
}
