/** A box that runs the guards on a text. */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api, type Answer } from '../api/client.ts'
import { duration } from '../format/numbers.ts'
import { Badge } from '../parts/badge.tsx'
import { Button } from '../parts/button.tsx'
import { Card } from '../parts/card.tsx'
import { Code } from '../parts/code.tsx'
import { Field } from '../parts/field.tsx'
import { Failure, Notice } from '../parts/notice.tsx'
import { PlainSelect } from '../parts/select.tsx'
import { useAction } from '../state/action.ts'

type Result = Answer<'POST /admin/v1/stages/try'>

const maxLength = 20_000

export function TryText (): JSX.Element {
  const text = useSignal('')
  const point = useSignal<'request' | 'answer'>('request')
  const result = useSignal<Result | undefined>(undefined)
  const { run, busy, error } = useAction()
  const inspect = (event: Event): void => {
    event.preventDefault()
    void run(async () => {
      result.value = await api('POST /admin/v1/stages/try', {
        body: { text: text.value, point: point.value }
      })
    })
  }
  return (
    <Card
      title='Try a text'
      subtitle='Inspected like a chat completion of a key without a project. Guards that call other services call them here, too.'
    >
      <form class='stack tight' onSubmit={inspect}>
        <Field label='Text'>
          {control => (
            <textarea
              {...control}
              class='textarea'
              rows={4}
              maxLength={maxLength}
              value={text.value}
              onInput={event => {
                text.value = event.currentTarget.value
              }}
            />
          )}
        </Field>
        <div class='row'>
          <PlainSelect
            name='Checked as'
            value={point.value}
            onChange={value => {
              point.value = value === 'answer' ? 'answer' : 'request'
            }}
            choices={[
              { value: 'request', label: 'As a request' },
              { value: 'answer', label: 'As an answer' }
            ]}
          />
          <Button kind='primary' type='submit' busy={busy} disabled={text.value === ''}>
            Check
          </Button>
        </div>
        <Failure error={error} />
        {result.value !== undefined && <Outcome result={result.value} />}
      </form>
    </Card>
  )
}

function Outcome ({
  result: { text, refusal, findings, duration_ms: durationMs }
}: {
  readonly result: Result
}): JSX.Element {
  return (
    <div class='stack tight' role='status'>
      {refusal !== null && <Notice tone='bad'>{refusal}</Notice>}
      {text !== null && <Code text={text} label='the text afterwards' />}
      <div class='row wrap'>
        {findings.length === 0 && <span class='muted'>Nothing was found.</span>}
        {findings.map(({ stage, action, count }) => (
          <Badge
            key={`${stage} ${action}`}
            tone={action === 'refuse' ? 'bad' : action === 'mask' ? 'warn' : 'neutral'}
          >{`${stage}: ${action} ${count}`}</Badge>
        ))}
        <span class='faint nowrap'>{duration(durationMs)}</span>
      </div>
    </div>
  )
}
