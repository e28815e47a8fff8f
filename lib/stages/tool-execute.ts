/**
 * Lets a model use the tools of tool servers: calls the model, runs the tools it calls, and calls it again
 * with the results, until it answers. A call that names no tool server goes straight to `answerTurn`.
 *
 * The caller sees one answer. Text appears as it is written. Calls of server tools do not appear. Calls of
 * the caller's own functions end the answer with `tool_calls`, after the server calls of the same turn have
 * been run and reported. An answer that ends while server calls are pending shows those calls, and gives the
 * reason in `tool_loop_stopped`: `max_turns`, `deadline`, `tokens`, `budget`, `calls_per_turn` or
 * `repeated_call`. Dialects that report server tools show them as results with that reason.
 */

import { standardSignal } from '../async/cancellation.ts'
import { maxChoicesOf } from '../chat/generation-fields.ts'
import { mergeSettings } from '../chat/merge-settings.ts'
import { forbidsTools } from '../chat/tool-choice.ts'
import { copyCall } from '../core/call.ts'
import { GatewayError } from '../core/errors.ts'
import { once } from '../pipeline/sources.ts'
import { flatMap } from '../pipeline/stage.ts'
import { affordableTokens } from '../limits/max-cost.ts'
import {
  afterStart,
  failureReport,
  holdToolMemory,
  ToolLoop,
  type AnswerTurn,
  type LoopOptions
} from '../mcp/tool-loop.ts'
import { callerFunctions, withTools } from '../mcp/turn-requests.ts'
import type { ChatInput, RoutedChatCall } from '../chat/input.ts'
import type { ChatBatch } from '../dialects/dialect.ts'
import type { OpenTools, ToolServers } from '../mcp/tool-servers.ts'
import type { Services } from '../services.ts'
import type { ToolBounds } from '../mcp/loop-bounds.ts'

export interface ToolServices extends Pick<Services, 'toolServers' | 'models' | 'providers' | 'textGuards'> {
  readonly settings: { readonly tools: ToolBounds }
}

/**
 * Runs the tool loop: one call in, its answer out, of the same shape as that of `answerTurn`: one
 * `answer-start`, one `choice-end` per choice, at most one `usage`, which is the sum over the turns if all
 * report theirs. Turns after the first go to the route that served it.
 *
 * @param answerTurn the provider-call stage, followed by `recordUsage`: token limits read the record
 * @throws GatewayError `unsupported_parameter` when `n` is greater than 1 while tools are to be run: only one
 *   conversation can be continued. Otherwise what `answerTurn` throws.
 */
export function toolExecute (services: ToolServices, answerTurn: AnswerTurn): AnswerTurn {
  const { toolServers: tools, models, settings, textGuards } = services
  const options: LoopOptions = {
    bounds: settings.tools,
    seesImages: seesImagesIn(services),
    canAffordTurn: canAffordTurnWith(models),
    textGuards
  }
  return flatMap(call => {
    const { request } = call
    if (request.mcp_servers === undefined || !usesServers(request)) return answerTurn(once(call))
    return runsTools(call, services)
      ? answerWithTools(call, tools, answerTurn, options)
      : offerTools(call, tools, answerTurn)
  })
}

function canAffordTurnWith (models: ToolServices['models']): LoopOptions['canAffordTurn'] {
  return call => {
    const answer = affordableTokens(call, models)
    return answer === undefined || answer.affordable >= answer.min
  }
}

/**
 * Returns true if the model of a route is known to support vision: other models may refuse a whole request
 * because of one image.
 */
function seesImagesIn ({ models, providers }: ToolServices): LoopOptions['seesImages'] {
  return ({ modelId, providerId }) =>
    providers.get(providerId)?.quirks.toolImages !== false &&
    models.find(modelId)?.capabilities['vision'] === true
}

function usesServers (request: ChatInput): boolean {
  const { mcp_servers: servers } = request
  if (Array.isArray(servers) && servers.length === 0) return false
  return !forbidsTools(request) || hasApprovedCalls(request)
}

/**
 * Returns true if the caller has approved calls of an earlier answer. They run even if the model may not make
 * new ones.
 */
function hasApprovedCalls ({ toolApproval }: ChatInput): boolean {
  return toolApproval !== undefined && toolApproval.approved.length > 0
}

function runsTools (
  { request, routes }: RoutedChatCall,
  { providers }: Pick<ToolServices, 'providers'>
): boolean {
  if (request.automatic_tool_execution === false) return false
  return (
    request.disable_automatic_function_calling !== true ||
    providers.get(routes[0].providerId)?.traits.automaticFunctionCalling !== true
  )
}

/** Offers the tools to the model, and leaves its calls to the caller. */
async function* offerTools (
  call: RoutedChatCall,
  tools: ToolServers,
  answerTurn: AnswerTurn
): AsyncGenerator<ChatBatch> {
  const open = await openTools(call, tools)
  let report = failureReport(open.errors)
  for await (const batch of answerTurn(once(copyCall(call, { request: withTools(call.request, open) })))) {
    yield { ...batch, call, events: afterStart(batch.events, report) }
    report = []
  }
}

async function* answerWithTools (
  call: RoutedChatCall,
  tools: ToolServers,
  answerTurn: AnswerTurn,
  options: LoopOptions
): AsyncGenerator<ChatBatch> {
  const { request, routes } = call
  if (routes.some(({ settings }) => maxChoicesOf(mergeSettings(request, settings)) > 1)) {
    throw new GatewayError('unsupported_parameter', {
      message:
        '`n` greater than 1 cannot be combined with `mcp_servers`, unless `automatic_tool_execution` is false.',
      param: 'n'
    })
  }
  const open = await openTools(call, tools)
  const loop = new ToolLoop(call, open, answerTurn, options)
  try {
    yield* loop.turns()
  } finally {
    loop.end()
  }
}

/**
 * @throws GatewayError `overloaded` if other calls use the memory that the tools need; `file_too_large` if a
 *   key may never use that much
 */
async function openTools (
  { request, key, signal, record, takeMemory }: RoutedChatCall,
  tools: ToolServers
): Promise<OpenTools> {
  const startedAtMs = performance.now()
  try {
    const open = await tools.open({
      request,
      key,
      reservedNames: callerFunctions(request),
      signal: standardSignal(signal),
      trace: record.trace,
      onListing: listing => {
        record.tools.listings ??= []
        record.tools.listings.push(listing)
      }
    })
    holdToolMemory(open.listBytes, takeMemory)
    return open
  } finally {
    record.times.upstreamWaitMs += performance.now() - startedAtMs
  }
}
