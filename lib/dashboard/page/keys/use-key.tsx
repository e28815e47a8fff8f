/** Shows how to use a key in a program that the reader chooses; the choice is remembered. */

import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { Code } from '../parts/code.tsx'
import { Segments } from '../parts/segments.tsx'
import { catalogue, isChatModel, loadCatalogue } from '../state/catalogue.ts'
import { currentSession } from '../state/session.ts'
import { examples } from './examples.ts'

const chosen = signal(localStorage.getItem('example') ?? 'curl')

function choose (id: string): void {
  localStorage.setItem('example', id)
  chosen.value = id
}

/** @param models those that the key may use; `null` means all */
export function UseKey ({
  secret,
  models
}: {
  readonly secret: string
  readonly models: readonly string[] | null
}): JSX.Element {
  useEffect(() => {
    void loadCatalogue()
  }, [])
  const list = examples(currentSession().public_url, secret, exampleModel(models))
  const shown = list.find(({ id }) => id === chosen.value) ?? list[0]
  return (
    <div class='stack tight'>
      <Segments
        label='Program'
        value={shown?.id ?? ''}
        choices={list.map(({ id, label }) => ({ value: id, label }))}
        onChange={choose}
      />
      {shown !== undefined && <Code text={shown.text} label={shown.label} />}
    </div>
  )
}

/** Returns a chat model that the key may use, preferably not the simulator's. */
function exampleModel (allowed: readonly string[] | null): string {
  const isAllowed = (id: string): boolean =>
    allowed === null ||
    allowed.some(pattern => pattern === id || (pattern.endsWith('*') && id.startsWith(pattern.slice(0, -1))))
  const usable = catalogue.value.filter(
    entry => entry.status !== 'disabled' && isChatModel(entry) && isAllowed(entry.id)
  )
  const model =
    usable.find(({ provider_id }) => provider_id !== 'sandbox') ??
    usable.find(({ id }) => id === 'sandbox/echo') ??
    usable[0]
  return model?.id ?? allowed?.find(pattern => !pattern.includes('*')) ?? 'sandbox/echo'
}
