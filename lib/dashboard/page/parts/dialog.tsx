/** A modal dialog: the browser keeps the focus inside, closes it on Escape and restores the focus. */

import type { ComponentChildren, JSX } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Button } from './button.tsx'

export interface DialogProps {
  readonly title: string
  readonly subtitle?: ComponentChildren
  readonly onClose: () => void
  /** If set, the content is a form, which Enter submits. */
  readonly onSubmit?: () => void
  readonly footer?: ComponentChildren
  readonly wide?: boolean
  /** True while closing would lose something: only buttons close it then. */
  readonly modal?: boolean
  readonly children: ComponentChildren
}

export function Dialog ({
  title,
  subtitle,
  onClose,
  onSubmit,
  footer,
  wide = false,
  modal = false,
  children
}: DialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  // Before the next key: what is typed right after the button belongs in the dialog.
  useLayoutEffect(() => {
    const element = dialog.current
    if (element?.open === false) element.showModal()
    return () => element?.close()
  }, [])
  const content = (
    <>
      <header>
        <div class='grow'><h2 id={id}>{title}</h2>{subtitle !== undefined && <p>{subtitle}</p>}</div>
        {!modal && <Button kind='plain' small icon='close' label='Close' onClick={onClose} />}
      </header>
      <div class='dialog-body'>{children}</div>
      {footer !== undefined && <footer>{footer}</footer>}
    </>
  )
  return (
    <dialog
      ref={dialog} class={wide ? 'dialog wide' : 'dialog'} aria-labelledby={id}
      onCancel={event => {
        event.preventDefault()
        if (!modal) onClose()
      }}
      onMouseDown={event => { if (event.target === dialog.current && !modal) onClose() }}
    >
      {onSubmit === undefined
        ? <div class='dialog-inner'>{content}</div>
        : <form noValidate onSubmit={event => {
            event.preventDefault()
            onSubmit()
          }}>{content}</form>}
    </dialog>
  )
}
