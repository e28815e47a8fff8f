/** Short confirmations at the bottom of the page; errors are shown where they happen instead. */

import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { Icon } from './icon.tsx'

interface Message { readonly id: number, readonly text: string }

const shownMs = 3500
const messages = signal<readonly Message[]>([])
let nextId = 0

export function toast (text: string): void {
  const id = nextId++
  messages.value = [...messages.value.slice(-2), { id, text }]
  setTimeout(() => { messages.value = messages.value.filter(message => message.id !== id) }, shownMs)
}

export function Toasts (): JSX.Element {
  return (
    <div class='toasts' role='status' aria-live='polite'>
      {messages.value.map(({ id, text }) => <div class='toast' key={id}><Icon name='check' />{text}</div>)}
    </div>
  )
}
