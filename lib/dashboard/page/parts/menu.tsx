/**
 * A button that opens a list of actions. The arrow keys move in it; Escape and a click elsewhere close it.
 */

import type { JSX } from 'preact'
import { useId, useRef } from 'preact/hooks'
import { Button } from './button.tsx'
import { Icon, type IconName } from './icon.tsx'

export interface MenuItem {
  readonly label: string
  readonly icon: IconName
  readonly danger?: boolean
  readonly onSelect: () => void
}

export function Menu ({
  label,
  items
}: {
  readonly label: string
  readonly items: readonly MenuItem[]
}): JSX.Element {
  const list = useRef<HTMLDivElement>(null)
  const holder = useRef<HTMLDivElement>(null)
  const id = useId()
  const open = (): void => {
    const element = list.current
    const button = holder.current?.querySelector('button')
    if (element === null || button === null || button === undefined) return
    element.showPopover()
    place(element, button.getBoundingClientRect())
    element.querySelector('button')?.focus()
  }
  return (
    <div class='menu' ref={holder}>
      <Button kind='plain' small icon='more' label={label} onClick={open} />
      <div
        class='menu-list'
        id={id}
        ref={list}
        popover='auto'
        role='menu'
        aria-label={label}
        onKeyDown={move}
      >
        {items.map(({ label, icon, danger, onSelect }) => (
          <button
            key={label}
            type='button'
            role='menuitem'
            class={danger === true ? 'danger' : undefined}
            onClick={() => {
              list.current?.hidePopover()
              onSelect()
            }}
          >
            <Icon name={icon} />
            {label}
          </button>
        ))}
      </div>
    </div>
  )
}

/** Puts the list below its button, or above it if there is no room. */
function place (list: HTMLElement, { top, bottom, right }: DOMRect): void {
  const { offsetHeight, offsetWidth, style } = list
  style.left = `${Math.max(8, right - offsetWidth)}px`
  style.top = `${bottom + 4 + offsetHeight > innerHeight ? top - offsetHeight - 4 : bottom + 4}px`
}

function move (event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (step === undefined || !(event.currentTarget instanceof Element)) return
  event.preventDefault()
  const buttons = [...event.currentTarget.querySelectorAll('button')]
  const now = buttons.findIndex(button => button === document.activeElement)
  buttons[(now + step + buttons.length) % buttons.length]?.focus()
}
