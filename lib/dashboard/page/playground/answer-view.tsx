/** One answer: the model's reasoning, the tools it ran, its text, and the usage. */

import type { Signal } from '@preact/signals'
import type { JSX } from 'preact'
import { count, duration, exactDollars } from '../format/numbers.ts'
import { Copy } from '../parts/copy.tsx'
import { Fold } from '../parts/fold.tsx'
import { Notice } from '../parts/notice.tsx'
import { at } from '../state/router.ts'
import type { Answer, ToolRun } from './answer.ts'
import { Markdown } from './markdown.tsx'
import { costOf } from './price.ts'

export function AnswerView ({ answer: { value: answer } }: { readonly answer: Signal<Answer> }): JSX.Element {
  const { text, thinking, tools, functionCalls, serverErrors, state, error, requestId } = answer
  const waiting = state === 'running' && text === '' && thinking === '' && tools.length === 0
  return (
    <div class='answer' aria-busy={state === 'running'}>
      {waiting && (
        <span class='dots' role='status' aria-label='Waiting for the first token'>
          <i />
          <i />
          <i />
        </span>
      )}
      {thinking !== '' && (
        <Fold
          title='Thinking'
          note={state === 'running' && text === '' ? '…' : `${count(thinking.split(/\s+/).length)} words`}
        >
          <p class='small muted pre'>{thinking}</p>
        </Fold>
      )}
      {tools.map(tool => (
        <ToolView key={tool.id} tool={tool} />
      ))}
      {serverErrors.map(message => (
        <Notice key={message} tone='warn'>
          {message}
        </Notice>
      ))}
      {text !== '' && <Markdown text={text} />}
      {functionCalls.map((piece, index) => (
        <Fold key={index} title={<code>{piece.name}</code>} note='call of a function' open>
          <pre class='value'>{pretty(piece.arguments)}</pre>
        </Fold>
      ))}
      {error !== undefined && (
        <Notice tone='bad'>
          {error}
          {requestId !== undefined && <span class='mono'> · {requestId}</span>}
        </Notice>
      )}
      {state !== 'running' && <Footer answer={answer} />}
    </div>
  )
}

function ToolView ({
  tool: { name, server, state, durationMs, progress, arguments: given, result }
}: {
  readonly tool: ToolRun
}): JSX.Element {
  const note =
    state === 'running'
      ? (progress ?? 'running …')
      : `${state === 'failed' ? 'failed' : 'done'}${durationMs === undefined ? '' : ` in ${duration(durationMs)}`}`
  return (
    <Fold
      title={<code>{name}</code>}
      note={
        <>
          <span class='grow'>{server}</span>
          <span class={state === 'failed' ? 'bad' : undefined}>{note}</span>
        </>
      }
    >
      {given !== undefined && (
        <>
          <h3>Arguments</h3>
          <pre class='value'>{pretty(given)}</pre>
        </>
      )}
      {result !== undefined && (
        <>
          <h3>Result</h3>
          <pre class='value'>{pretty(result)}</pre>
        </>
      )}
      {given === undefined && (
        <p class='small faint'>Arguments and result follow at the end of the answer.</p>
      )}
    </Fold>
  )
}

function pretty (value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}

function Footer ({
  answer: { text, model, durationMs, firstTokenMs, usage, attempts, requestId, state, finishReason }
}: {
  readonly answer: Answer
}): JSX.Element {
  const cost = model === undefined || usage === undefined ? undefined : costOf(model, usage)
  const facts = [
    ...state === 'stopped' ? ['stopped'] : [],
    ...finishReason === undefined || finishReason === 'stop' ? [] : [finishReason.replaceAll('_', ' ')],
    ...durationMs === undefined ? [] : [duration(durationMs)],
    ...firstTokenMs === undefined ? [] : [`first token ${duration(firstTokenMs)}`],
    ...usage === undefined ? [] : [`${count(usage.prompt)} + ${count(usage.completion)} tokens`],
    ...cost === undefined ? [] : [`≈ ${exactDollars(cost)}`],
    ...attempts !== undefined && attempts > 1 ? [`${attempts} attempts`] : []
  ]
  return (
    <footer class='answer-foot'>
      <span class='number'>{facts.join(' · ')}</span>
      {text !== '' && <Copy text={text} label='Copy answer' />}
      {requestId !== undefined && <a href={at(`/calls/${encodeURIComponent(requestId)}`)}>Call</a>}
    </footer>
  )
}
