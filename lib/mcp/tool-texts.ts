/** Has guards inspect the texts of server tool calls: the arguments and the results. */

import { judgeTexts } from '../guards/gathered-texts.ts'
import { PlaceholderFilter } from '../guards/placeholder-filter.ts'
import { replaceInSlices } from '../guards/replace-in-slices.ts'
import type { TextGuards } from '../guards/text-guards.ts'
import { replaceFindings, type PlaceFilters, type TextFilter } from '../guards/text-filter.ts'
import { objectOf, type JsonObject } from '../json/type-guards.ts'
import { parseBoundedText } from '../json/parse-text.ts'
import {
  everywhere,
  replaceInJsonInSlices,
  toolArguments,
  toolResult,
  type ReplaceText
} from '../json/place-table.ts'
import type { ApprovedCall, RoutedChatCall } from '../chat/input.ts'
import type { TurnToolCall } from '../chat/turn.ts'
import type { AssistantMessage } from '../../schemas/messages.ts'
import type { FinishedToolCall } from './run-tools.ts'
import type { ToolOutcome } from './tool-servers.ts'

/** Has the guards inspect the texts of a value, one after another. Rejects if one refuses the call. */
type InspectTexts = <T>(value: T, replaceTexts: (value: T, replace: ReplaceText) => Promise<T>) => Promise<T>

/** The guards of one call at its server tools. Works in slices. Throws `content_refused` if one refuses. */
export class ToolTexts {
  readonly #call: RoutedChatCall
  readonly #callGuards: readonly InspectTexts[]
  readonly #resultGuards: readonly InspectTexts[]
  /** Returns the arguments to send to a server; absent if they stay unchanged. */
  readonly sentArguments: ((given: JsonObject) => Promise<JsonObject>) | undefined

  /** @param guards that inspect texts. Default: none */
  constructor (guards: TextGuards | undefined, call: RoutedChatCall) {
    this.#call = call
    this.#callGuards = guardsAt(guards, call, 'tool_call')
    this.#resultGuards = guardsAt(guards, call, 'tool_result')
    const { guards: { placeholders } } = call.record
    if (placeholders === undefined || guards?.reversible?.restores(call)?.forServers !== true) return
    const filter = new PlaceholderFilter(placeholders)
    this.sentArguments = async given => await replaceInSlices(given, filter, async (given, replace) =>
      await everywhere('tool_call').replaceInSlices(given, replace))
  }

  /**
   * Returns approved calls with the arguments that may be shown and stored: with placeholders, as the guards
   * left them in the conversation, even if the caller sent the values.
   */
  approved (calls: readonly ApprovedCall[]): readonly ApprovedCall[] {
    const { request: { messages }, record: { guards: { placeholders } } } = this.#call
    if (placeholders === undefined) return calls
    const texts = new Map(messages.flatMap(message =>
      message.role === 'assistant'
        ? (message.tool_calls ?? []).map(call => [call.id, 'function' in call ? call.function.arguments : ''])
        : []
    ))
    return calls.map(call => ({ ...call, argumentsText: texts.get(call.id) ?? call.argumentsText }))
  }

  /** Returns the calls with the arguments for their tools. */
  async called (calls: readonly TurnToolCall[]): Promise<readonly TurnToolCall[]> {
    return await inOrder(this.#callGuards, calls, calledBy)
  }

  /** Returns finished calls with the results for the model and the caller. */
  async returned (finished: readonly FinishedToolCall[]): Promise<readonly FinishedToolCall[]> {
    return await inOrder(this.#resultGuards, finished, returnedBy)
  }

  /** Returns the message of a turn with the arguments that its tools received. */
  withSentArguments (message: AssistantMessage, ran: readonly FinishedToolCall[]): AssistantMessage {
    if (this.#callGuards.length === 0 || !Array.isArray(message.tool_calls)) return message
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

function guardsAt (
  guards: TextGuards | undefined,
  call: RoutedChatCall,
  point: 'tool_call' | 'tool_result'
): InspectTexts[] {
  return (guards?.layers ?? []).flatMap((layer): InspectTexts | [] => {
    if ('forCall' in layer) {
      const judge = layer.forCall(call, point)
      return judge === undefined
        ? []
        : async (value, replaceTexts) => await judgeTexts(judge, value, replaceTexts)
    }
    if ('stages' in layer) return []
    const filter = layer.filter(call, [point])
    return filter === undefined
      ? []
      : async (value, replaceTexts) => await replaceInSlices(value, filtersOf(filter), replaceTexts)
  })
}

/** Returns filters that apply one filter to all texts of a value. */
function filtersOf (filter: TextFilter): PlaceFilters {
  return {
    at: () => filter,
    replace: (text, { kind }) => replaceFindings(filter, text, kind === 'fixed')
  }
}

/** Has the guards inspect all values, one after another. */
async function inOrder<T> (
  guards: readonly InspectTexts[],
  values: readonly T[],
  replaceTexts: (value: T, replace: ReplaceText) => Promise<T>
): Promise<readonly T[]> {
  let result = values
  for (const inspect of guards) {
    result = await inspect(result, async (values, replace) => {
      const replaced: T[] = []
      for (const value of values) replaced.push(await replaceTexts(value, replace))
      return replaced
    })
  }
  return result
}

async function calledBy (call: TurnToolCall, replace: ReplaceText): Promise<TurnToolCall> {
  const argumentsText = await replaceInJsonInSlices(call.argumentsText, toolArguments, replace)
  if (argumentsText === call.argumentsText) return call
  const changed = call.arguments && objectOf(await parseBoundedText(argumentsText))
  return { ...call, argumentsText, arguments: changed }
}

async function returnedBy (finished: FinishedToolCall, replace: ReplaceText): Promise<FinishedToolCall> {
  const { outcome } = finished
  if (outcome === undefined) return finished
  const { text, result } = outcome
  const reported = await everywhere('tool_result').replaceInSlices(result.result, replace)
  const changed: ToolOutcome['result'] = reported === result.result ? result : { ...result, result: reported }
  return { ...finished, outcome: { ...outcome, text: replace(text, toolResult), result: changed } }
}
