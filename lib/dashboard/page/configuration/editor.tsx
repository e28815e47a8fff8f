/**
 * Edits the file of the configuration: with completion, and with a check and a comparison before it is saved.
 */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { api, type Answer } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { Failure, Notice } from '../parts/notice.tsx'
import { toast } from '../parts/toast.tsx'
import { useAction } from '../state/action.ts'
import { CompletingText } from './completing-text.tsx'
import { Problems } from './problems.tsx'

type Configuration = Answer<'GET /admin/v1/configuration'>
type Check = Answer<'POST /admin/v1/configuration/check'>

export function Editor ({
  configuration,
  onSaved
}: {
  readonly configuration: Configuration
  readonly onSaved: (configuration: Configuration) => void
}): JSX.Element {
  const text = useSignal(configuration.text ?? '')
  const checked = useSignal<{ readonly text: string, readonly result: Check } | undefined>(undefined)
  /** The text that was last sent. */
  const tried = useSignal<string | undefined>(undefined)
  const area = useRef<HTMLTextAreaElement>(null)
  const { run, busy, error } = useAction()
  const changed = text.value !== configuration.text
  // What was found in another text than the present one is not about it.
  const check = checked.value?.text === text.value ? checked.value.result : undefined
  const failure = tried.value === text.value ? error : undefined
  const review = (): void =>
    void run(async () => {
      const { value } = text
      tried.value = value
      checked.value = {
        text: value,
        result: await api('POST /admin/v1/configuration/check', { body: { text: value } })
      }
    })
  const save = (): void => {
    void run(async () => {
      tried.value = text.value
      onSaved(
        await api('POST /admin/v1/configuration', {
          body: { text: text.value, revision: configuration.revision }
        })
      )
      checked.value = undefined
      toast('Configuration saved')
    })
  }
  return (
    <Card
      title={configuration.file ?? 'Configuration'}
      subtitle={
        configuration.editable
          ? 'The gateway takes it over when it is saved.'
          : 'Read only. Saving it here needs dashboard.edit_config and an owner.'
      }
      actions={
        configuration.editable && (
          <>
            {changed && (
              <Button
                small
                kind='plain'
                onClick={() => {
                  text.value = configuration.text ?? ''
                }}
              >
                Discard
              </Button>
            )}
            {check?.valid === true ? (
              <Button small kind='primary' busy={busy} onClick={save}>
                Save
              </Button>
            ) : (
              <Button small kind='primary' busy={busy} disabled={!changed} onClick={review}>
                Review changes
              </Button>
            )}
          </>
        )
      }
    >
      <div class='stack'>
        <Failure error={failure} />
        {check !== undefined && <Review check={check} onLine={line => goToLine(area.current, line)} />}
        <CompletingText
          area={area}
          label='Configuration'
          value={text.value}
          readOnly={!configuration.editable}
          onInput={value => {
            text.value = value
          }}
        />
      </div>
    </Card>
  )
}

function Review ({
  check,
  onLine
}: {
  readonly check: Check
  readonly onLine: (line: number) => void
}): JSX.Element {
  return (
    <div class='stack tight'>
      <Problems problems={check.problems} tone='bad' onLine={onLine} />
      <Problems problems={check.warnings} tone='warn' onLine={onLine} />
      {check.valid && (
        <>
          <Notice tone={check.needs_restart.length > 0 ? 'warn' : 'good'}>
            {check.changed.length === 0
              ? 'Nothing that has an effect would change.'
              : `Would change: ${check.changed.join(', ')}.`}
            {check.needs_restart.length > 0 && ` After a restart only: ${check.needs_restart.join(', ')}.`}
          </Notice>
          <div class='diff' aria-label='Difference' role='region' tabIndex={0}>
            {check.diff.map(({ kind, text }, index) => (
              <div key={index} class={kind}>
                {text === '' ? ' ' : text}
              </div>
            ))}
          </div>
        </>
      )}
    </div>
  )
}

function goToLine (area: HTMLTextAreaElement | null, line: number): void {
  if (area === null) return
  const lines = area.value.split('\n')
  const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0)
  area.focus()
  area.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0))
}
