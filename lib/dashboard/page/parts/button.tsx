/** A button, or a link that looks like one if it has an address. */

import type { ComponentChildren, JSX } from 'preact'
import { Icon, type IconName } from './icon.tsx'

export interface ButtonProps {
  readonly children?: ComponentChildren
  /** Its name for readers who do not see the icon. Required if there is no text. */
  readonly label?: string
  readonly icon?: IconName
  readonly kind?: 'primary' | 'plain' | 'danger' | 'danger primary' | 'link'
  readonly small?: boolean
  readonly type?: 'button' | 'submit'
  readonly disabled?: boolean
  /** While true, it shows progress and cannot be pressed. */
  readonly busy?: boolean
  readonly href?: string
  readonly pressed?: boolean
  readonly onClick?: (event: MouseEvent) => void
}

export function Button ({
  children,
  label,
  icon,
  kind,
  small = false,
  type = 'button',
  disabled = false,
  busy = false,
  href,
  pressed,
  onClick
}: ButtonProps): JSX.Element {
  const names = ['button', kind, small && 'small', children === undefined && 'icon']
    .filter(Boolean)
    .join(' ')
  const inside = (
    <>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </>
  )
  if (href !== undefined) {
    return (
      <a class={names} href={href} aria-label={label} title={label} onClick={onClick}>
        {inside}
      </a>
    )
  }
  return (
    <button
      class={names}
      type={type}
      disabled={disabled}
      aria-disabled={busy}
      aria-busy={busy}
      aria-label={label}
      title={children === undefined ? label : undefined}
      aria-pressed={pressed}
      onClick={busy ? undefined : onClick}
    >
      {inside}
    </button>
  )
}
