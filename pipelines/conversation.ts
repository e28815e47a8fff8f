/** The stages of every endpoint that answers a conversation or counts its tokens, in any dialect. */

import { chatUses } from '../lib/chat/provider-uses.ts'
import { countOf } from '../lib/chat/token-count.ts'
import { checkChatRules } from '../lib/chat/rules.ts'
import { chatAttributes, chatSettings } from '../lib/chat/model-settings.ts'
import { chain } from '../lib/pipeline/chain.ts'
import { contextOf } from '../lib/core/call.ts'
import { map, pass, type Stage } from '../lib/pipeline/stage.ts'
import { estimateChat } from '../lib/limits/estimate-chat.ts'
import { checkToolScope } from '../lib/mcp/tool-scope.ts'
import { speaksDialect } from '../lib/providers/speaks-dialect.ts'
import { lostReasoning } from '../lib/providers/lost-reasoning.ts'
import { answerReply } from '../lib/replies/answer-reply.ts'
import { replyWith } from '../lib/replies/reply-with.ts'
import { chatRequirements } from '../lib/routing/requirements.ts'
import { sessionOfCall } from '../lib/routing/session-of-call.ts'
import { answerEmpty } from '../lib/stages/answer-empty.ts'
import { auth } from '../lib/stages/auth.ts'
import { callOptions } from '../lib/stages/call-options.ts'
import { cachedAnswer } from '../lib/stages/cached-answer.ts'
import { capAnswer } from '../lib/stages/cap-answer.ts'
import { chatAddresses, checkAddresses } from '../lib/stages/check-addresses.ts'
import { checkProviderUses } from '../lib/stages/check-provider-uses.ts'
import { countPrompt, type CountedPrompt, type CountPromptOptions } from '../lib/stages/count-prompt.ts'
import { defer } from '../lib/stages/defer.ts'
import { fitRoutes } from '../lib/stages/fit-routes.ts'
import { dryRun, type OmittedFields } from '../lib/stages/dry-run.ts'
import { inspectAnswer } from '../lib/stages/inspect-answer.ts'
import { inspectRequest } from '../lib/stages/inspect-request.ts'
import { joinPlaceholders } from '../lib/stages/join-placeholders.ts'
import { limits } from '../lib/stages/limits.ts'
import { mirror } from '../lib/stages/mirror.ts'
import { namedGuards } from '../lib/stages/named-guards.ts'
import { normalise } from '../lib/stages/normalise.ts'
import { providerCall } from '../lib/stages/provider-call.ts'
import { recordUsage } from '../lib/stages/record-usage.ts'
import { routeModel } from '../lib/stages/route-model.ts'
import { toolExecute } from '../lib/stages/tool-execute.ts'
import { pipeline, type Handler } from './pipeline.ts'
import type { TObject } from 'typebox'
import type { ChatInput, RoutedChatCall } from '../lib/chat/input.ts'
import type { AuthedCall, Call, RoutedCall, ValidCall } from '../lib/core/call.ts'
import type { ChatEvent } from '../lib/core/events.ts'
import type { Reply } from '../lib/core/reply.ts'
import type { AnswerDialect, ChatBatch, Dialect, WireRequest } from '../lib/dialects/dialect.ts'
import type { Services } from '../lib/services.ts'

export interface RequestStageOptions {
  /**
   * A stage of your own, such as a text filter. The request is a list of messages at this point (that of a
   * conversation has passed its rules), and no model has been chosen. Deferred calls pass it as well, before
   * they are deferred. Default: none.
   */
  readonly afterRules?: Stage<ValidCall<ChatInput>>
}

export interface ConversationOptions extends RequestStageOptions {
  /**
   * A stage of the dialect before the request is sent, such as one that answers in the background: the routes
   * are known, and usage is reserved. Deferred calls do not pass it. Default: none.
   */
  readonly beforeAnswer?: Stage<RoutedChatCall>
}

/**
 * Answers calls of one dialect. Stages that a configuration has no use for pass every call on.
 *
 * @param validated the result of `validate(dialect.schema)`, compiled once for all pipelines of the dialect
 */
export function conversation<S extends TObject, C> (
  services: Services,
  dialect: Dialect<S, C>,
  validated: Stage<AuthedCall, ValidCall<WireRequest<S>>>,
  { afterRules = pass, beforeAnswer = pass }: ConversationOptions = {}
): Handler<Call> {
  const { textGuards, answerCache } = services
  const { replaceTexts, asTextAnswer } = dialect
  const isAnsweredAtOnce = isAnsweredAtOnceIn(dialect)
  return pipeline(
    auth(services),
    validated,
    namedGuards(services),
    callOptions(services, dialect.direct === undefined ? dialect.schema : undefined),
    map(dialect.sizes(services.settings.limits)),
    map(dialect.input),
    map(checkChatRules),
    map(checkToolScope),
    afterRules,
    routeModel(services, {
      settings: chatSettings,
      attributes: chatAttributes,
      session: sessionOfCall,
      requirements: chatRequirements
    }),
    dryRun(services, 'chat', { estimate: estimateChat, lost: lostFieldsIn(dialect) }),
    checkProviderUses(services, chatUses, dialect),
    answerEmpty(services, dialect),
    limits(services, { estimate: estimateChat }),
    checkAddresses(services, chatAddresses, dialect),
    joinPlaceholders(services, dialect),
    inspectRequest(textGuards, { replaceTexts, asTextAnswer, awaitsVerdict: isAnsweredAtOnce }),
    fitRoutes(services, dialect),
    defer(
      services,
      chain(capAnswer(services), providerCall(services, 'deferred')),
      chain(recordUsage<ChatInput, ChatEvent>(), normalise())
    ),
    mirror(services, isAnsweredAtOnce),
    beforeAnswer,
    normalisedAnswer(
      services,
      dialect,
      cachedAnswer(answerCache, answerInTurns(services), { isStored: isStoredIn(dialect) })
    ),
    answerReply(dialect)
  )
}

/**
 * Counts the tokens of conversations in one dialect. Only spending of guards counts against limits: clients
 * send dozens of counts, and providers count free of charge.
 *
 * @param validated see `conversation`
 * @param toReply the reply for a count, in that dialect
 */
export function promptCount<S extends TObject, C> (
  services: Services,
  dialect: Pick<Dialect<S, C>, 'sizes' | 'input' | 'replaceTexts' | 'fit' | 'direct'>,
  validated: Stage<AuthedCall, ValidCall<WireRequest<S>>>,
  toReply: (counted: CountedPrompt) => Reply,
  { afterRules = pass, ...options }: RequestStageOptions & CountPromptOptions = {}
): Handler<Call> {
  return pipeline(
    auth(services),
    validated,
    namedGuards(services),
    map(dialect.sizes(services.settings.limits)),
    map(dialect.input),
    afterRules,
    routeModel(services),
    dryRun(services, 'chat'),
    checkProviderUses(services, chatUses, dialect),
    limits(services, { estimate: estimateChat, onlyGuardCosts: true }),
    checkAddresses(services, chatAddresses, dialect),
    inspectRequest(services.textGuards, { replaceTexts: dialect.replaceTexts }),
    countPrompt(
      services, dialect, request => countOf(estimateChat(request).prompt.typical, request), options
    ),
    replyWith((counted: CountedPrompt) => {
      const reply = toReply(counted)
      return { ...reply, headers: { ...reply.headers, 'x-headgate-token-count': counted.by } }
    })
  )
}

/**
 * Answers calls that a `conversation` has admitted: their requests were checked, routed and inspected by
 * guards then, and were counted. Tokens and budget are reserved again: the call waits for tokens, and fails
 * if the budget is used up. Its answer comes from a provider, never from the cache.
 *
 * @param fitted fits the request to each route, for calls that were stored. Default: calls still have `fit`
 */
export function resumedConversation<C> (
  services: Services,
  dialect: AnswerDialect<C>,
  fitted: Stage<RoutedChatCall> = pass
): Handler<RoutedCall<ChatInput>> {
  const named: Stage<RoutedChatCall> = namedGuards(services)
  return pipeline(
    named,
    limits(services, { estimate: estimateChat, waitForCapacity: true }),
    fitted,
    normalisedAnswer(services, dialect, answerInTurns(services)),
    answerReply(dialect)
  )
}

type Answer = Stage<RoutedChatCall, ChatBatch>

/** Inspects an answer by the guards, and normalises its events. */
function normalisedAnswer<C> (
  { textGuards }: Services,
  { direct, startsWithUsage = false }: AnswerDialect<C>,
  answer: Answer
): Answer {
  return chain(
    inspectAnswer(textGuards, direct?.texts, answer),
    normalise({ estimate: startsWithUsage ? estimateChat : undefined })
  )
}

/** Has the provider answer, in as many turns as its tool calls need. */
function answerInTurns (services: Services): Answer {
  return toolExecute(services, chain(capAnswer(services), providerCall(services, 'chat'), recordUsage()))
}

function lostFieldsIn<C> ({ direct }: Pick<Dialect<never, C>, 'direct'>): OmittedFields<ChatInput> {
  return (request, reader) => lostReasoning(request, {
    ...reader,
    ...speaksDialect(reader.provider, direct?.dialect) && { direct: direct?.dialect }
  })
}

type CallPredicate = (call: RoutedChatCall) => boolean

function isStoredIn<C> ({ stored }: Pick<Dialect<never, C>, 'stored'>): CallPredicate {
  return call => stored?.isStored?.(contextOf(call)) === true
}

function isAnsweredAtOnceIn<C> ({ stored }: Pick<Dialect<never, C>, 'stored'>): CallPredicate {
  return call => call.request.deferred !== true && stored?.runsLater?.(contextOf(call)) !== true
}
