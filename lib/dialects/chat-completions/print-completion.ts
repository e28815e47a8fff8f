import { PrintedJson } from '../../core/reply.ts'
import { placeholder } from '../../json/placeholder.ts'
import { toCompletion } from './complete.ts'
import type { ChatEvent } from '../../core/events.ts'
import type { Completion } from './fold.ts'

type Batches = ReadonlyArray<{ readonly events: readonly ChatEvent[] }>
type TextRun = ChatEvent & { readonly type: 'text-run' }

const beyondAscii = /[^\0-\x7f]/

/**
 * Makes the completion of all batches of an answer. A text that came as it stands in JSON is put into the printed completion
 * as it is.
 */
export function printCompletion (batches: Batches): Completion | PrintedJson {
  const run = onlyRun(batches)
  if (run === undefined) return toCompletion(batches)
  const around = JSON.stringify(toCompletion(withPlaceholder(batches, run)))
  const at = around.indexOf(placeholder)
  if (at === -1 || around.includes(placeholder, at + 1) || beyondAscii.test(around)) return toCompletion(batches)
  const json = around.slice(0, at) + run.literals.join('') + around.slice(at + placeholder.length)
  return new PrintedJson(run.isAscii ? json : Buffer.from(json, 'latin1'))
}

/** Returns the one text of an answer that stands as in JSON; `undefined` for none or several. */
function onlyRun (batches: Batches): TextRun | undefined {
  let run: TextRun | undefined
  for (const { events } of batches) {
    for (const event of events) {
      if (event.type !== 'text-run') continue
      if (run !== undefined) return undefined
      run = event
    }
  }
  return run
}

function withPlaceholder (batches: Batches, run: TextRun): Batches {
  const text: ChatEvent = { type: 'text-delta', choice: run.choice, text: placeholder }
  return batches.map(({ events }) => events.includes(run) ? { events: events.map(event => event === run ? text : event) } : { events })
}
