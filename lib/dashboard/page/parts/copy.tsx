/** Copies a text, and confirms it for a moment. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { Button } from './button.tsx'
import { toast } from './toast.tsx'

export interface CopyProps {
  readonly text: string
  /** Describes what is copied. */
  readonly label: string
  /** Shown on the button; an icon alone without it. */
  readonly children?: string
}

export function Copy ({ text, label, children }: CopyProps): JSX.Element {
  const copied = useSignal(false)
  const copy = async (): Promise<void> => {
    await writeText(text)
    copied.value = true
    toast('Copied')
    setTimeout(() => { copied.value = false }, 1500)
  }
  return (
    <Button
      small
      kind={children === undefined ? 'plain' : 'primary'}
      icon={copied.value ? 'check' : 'copy'}
      label={label}
      onClick={() => void copy()}
    >
      {children}
    </Button>
  )
}

/** Also copies over plain HTTP, where scripts can reach the clipboard only through a selection. */
async function writeText (text: string): Promise<void> {
  if (isSecureContext) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  ;(document.querySelector('dialog[open]') ?? document.body).append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}
