/** Has the texts of calls of server tools looked at: what a tool is called with, and what it returns. */

import { replaceFindings, type TextFilter, type TextStages } from '../guards/text-filter.ts'
import { objectOf } from '../json/guards.ts'
import { parseBounded } from '../json/parse-bounded.ts'
import { everywhere, replaceInJson, toolArguments, type ReplaceText } from '../json/place-table.ts'
import type { RoutedChatCall } from '../chat/input.ts'
import type { TurnToolCall } from '../chat/turn.ts'
import type { AssistantMessage } from '../../schemas/messages.ts'
import type { FinishedToolCall } from './run-tools.ts'
import type { ToolOutcome } from './tool-servers.ts'

/** Throws `content_refused` for a finding that refuses the call. */
export class ToolTexts {
  readonly #calls: TextFilter | undefined
  readonly #results: TextFilter | undefined

  /** @param stages what looks at texts. Default: nothing does */
  constructor (stages: TextStages | undefined, call: RoutedChatCall) {
    this.#calls = stages?.filter(call, ['tool_call'])
    this.#results = stages?.filter(call, ['tool_result'])
  }

  /** Returns a call as its tool gets it. */
  called (call: TurnToolCall): TurnToolCall {
    if (this.#calls === undefined) return call
    const argumentsText = replaceInJson(call.argumentsText, toolArguments, replaceBy(this.#calls))
    if (argumentsText === call.argumentsText) return call
    return { ...call, argumentsText, arguments: call.arguments && objectOf(parseBounded(argumentsText)) }
  }

  /** Returns a call that has ended with its result as the model and the caller get it. */
  returned (finished: FinishedToolCall): FinishedToolCall {
    const { outcome } = finished
    if (this.#results === undefined || outcome === undefined) return finished
    const replace = replaceBy(this.#results)
    const reported = everywhere('tool_result').replace(outcome.result.result, replace)
    const result: ToolOutcome['result'] =
      reported === outcome.result.result ? outcome.result : { ...outcome.result, result: reported }
    return {
      ...finished,
      outcome: { ...outcome, text: replaceFindings(this.#results, outcome.text), result }
    }
  }

  /** Returns the message of a turn with its calls as their tools got them. */
  said (message: AssistantMessage, ran: readonly FinishedToolCall[]): AssistantMessage {
    if (this.#calls === undefined || !Array.isArray(message.tool_calls)) return message
    const texts = new Map(ran.map(({ call }) => [call.id, call.argumentsText]))
    const calls = message.tool_calls.map(call => {
      const text = 'function' in call ? texts.get(call.id) : undefined
      return text === undefined || text === '' || !('function' in call)
        ? call
        : { ...call, function: { ...call.function, arguments: text } }
    })
    return { ...message, tool_calls: calls }
  }
}

function replaceBy (filter: TextFilter): ReplaceText {
  return (text, { kind }) => replaceFindings(filter, text, kind === 'fixed')
}
