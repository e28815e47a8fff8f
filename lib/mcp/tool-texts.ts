/** Has the texts of calls of server tools looked at: what a tool is called with, and what it returns. */

import { judgeTexts } from '../guards/found-texts.ts'
import { PlaceholderFilter } from '../guards/placeholder-filter.ts'
import { replaceFindings, type TextStages } from '../guards/text-filter.ts'
import { objectOf, type JsonObject } from '../json/guards.ts'
import { parseBounded } from '../json/parse-bounded.ts'
import {
  everywhere,
  replaceInJson,
  toolArguments,
  toolResult,
  type ReplaceText
} from '../json/place-table.ts'
import type { RoutedChatCall } from '../chat/input.ts'
import type { TurnToolCall } from '../chat/turn.ts'
import type { AssistantMessage } from '../../schemas/messages.ts'
import type { FinishedToolCall } from './run-tools.ts'
import type { ToolOutcome } from './tool-servers.ts'

/** Has one stage after the other look at the texts of a value. Rejects with what refuses the call. */
type Look = <T>(value: T, replaceTexts: (value: T, replace: ReplaceText) => T) => Promise<T>

/** Throws `content_refused` for a finding that refuses the call. */
export class ToolTexts {
  readonly #lookAtCalls: readonly Look[]
  readonly #lookAtResults: readonly Look[]
  /** Returns the arguments of a call as servers get them; absent where that is as they are. */
  readonly sentArguments: ((given: JsonObject) => JsonObject) | undefined

  /** @param stages what looks at texts. Default: nothing does */
  constructor (stages: TextStages | undefined, call: RoutedChatCall) {
    this.#lookAtCalls = looksFor(stages, call, 'tool_call')
    this.#lookAtResults = looksFor(stages, call, 'tool_result')
    const { placeholders } = call.record
    if (placeholders === undefined || stages?.reversible?.restores(call)?.forServers !== true) return
    const { replace } = new PlaceholderFilter(placeholders)
    this.sentArguments = given => everywhere('tool_call').replace(given, replace)
  }

  /** Returns calls as their tools get them. */
  async called (calls: readonly TurnToolCall[]): Promise<readonly TurnToolCall[]> {
    return await inTurn(this.#lookAtCalls, calls, (calls, replace) =>
      calls.map(call => calledBy(call, replace))
    )
  }

  /** Returns calls that have ended with their results as the model and the caller get them. */
  async returned (finished: readonly FinishedToolCall[]): Promise<readonly FinishedToolCall[]> {
    return await inTurn(
      this.#lookAtResults,
      finished,
      (finished, replace) => finished.map(one => returnedBy(one, replace))
    )
  }

  /** Returns the message of a turn with its calls as their tools got them. */
  said (message: AssistantMessage, ran: readonly FinishedToolCall[]): AssistantMessage {
    if (this.#lookAtCalls.length === 0 || !Array.isArray(message.tool_calls)) return message
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

function looksFor (
  stages: TextStages | undefined,
  call: RoutedChatCall,
  point: 'tool_call' | 'tool_result'
): Look[] {
  return (stages?.layers ?? []).flatMap((layer): Look | [] => {
    if ('judge' in layer) {
      const judge = layer.judge(call, point)
      return judge === undefined
        ? []
        : async (value, replaceTexts) => await judgeTexts(judge, value, replaceTexts)
    }
    if ('stages' in layer) return []
    const filter = layer.filter(call, [point])
    return filter === undefined
      ? []
      : async (value, replaceTexts) => replaceTexts(
          value,
          (text, { kind }) => replaceFindings(filter, text, kind === 'fixed')
        )
  })
}

async function inTurn<T> (
  looks: readonly Look[],
  value: T,
  replaceTexts: (value: T, replace: ReplaceText) => T
): Promise<T> {
  let result = value
  for (const look of looks) result = await look(result, replaceTexts)
  return result
}

function calledBy (call: TurnToolCall, replace: ReplaceText): TurnToolCall {
  const argumentsText = replaceInJson(call.argumentsText, toolArguments, replace)
  if (argumentsText === call.argumentsText) return call
  return { ...call, argumentsText, arguments: call.arguments && objectOf(parseBounded(argumentsText)) }
}

function returnedBy (finished: FinishedToolCall, replace: ReplaceText): FinishedToolCall {
  const { outcome } = finished
  if (outcome === undefined) return finished
  const reported = everywhere('tool_result').replace(outcome.result.result, replace)
  const result: ToolOutcome['result'] =
    reported === outcome.result.result ? outcome.result : { ...outcome.result, result: reported }
  return { ...finished, outcome: { ...outcome, text: replace(outcome.text, toolResult), result } }
}
