/**
 * The chat request as stages and adapters see it, whatever the caller's dialect. Each dialect's `input`
 * creates it.
 */

import type { RoutedCall, ValidCall } from '../core/call.ts'
import type { ChatRequest } from '../../schemas/chat.ts'
import type { Message } from '../../schemas/messages.ts'

type Alias =
  | 'messages' | 'input' | 'instructions' | 'system' | 'system_instruction'
  | 'stop_sequences' | 'auto_execute_tools' | 'cachedContent' | 'service_tier'

/**
 * One conversation: `messages` holds all of it, including the system prompt, in chat-completions format
 * without aliases.
 */
export interface ChatInput extends Omit<ChatRequest, Alias> {
  readonly messages: readonly Message[]
  readonly service_tier?: Exclude<ChatRequest['service_tier'], 'fast'>
  /** Where the messages came from, so that errors can name the caller's field. */
  readonly originalInput?: OriginalInput
  /** The caller's names for fields that are renamed here. */
  readonly callerNames?: Readonly<Record<string, string>>
  /**
   * The complete conversation in the caller's dialect, from which providers of that dialect may read more
   * than this format holds. Absent once turns were added.
   */
  readonly asWritten?: object
  /**
   * Default: no call needs approval. The answer is then one message without separate turns or server tools;
   * calls that were not run are shown as function calls.
   */
  readonly toolApproval?: ToolApproval
  /** True if the caller wants to see the model's thinking. */
  readonly showsThinking?: true
  /** How detailed the summary of the thinking should be. Default: `auto`. */
  readonly reasoningSummary?: 'auto' | 'concise' | 'detailed'
  /** Maximum server tool calls. Default: those of `max_turns` turns. */
  readonly max_tool_calls?: number
}

/** The caller's approval of server tool calls. */
export interface ToolApproval {
  /** Returns true if a call needs approval. */
  readonly isNeeded: (serverName: string, toolName: string) => boolean
  /**
   * Server tool calls in `messages`, with names that every provider accepts, until the offered names are
   * known.
   */
  readonly calls: readonly ServerCall[]
  /** Approved calls to run now. Each has an empty result in `messages`; its id is that of the approval. */
  readonly approved: readonly ApprovedCall[]
}

export interface ServerCall {
  /** Id of the call in `messages`. */
  readonly id: string
  readonly serverName: string
  readonly toolName: string
}

export interface ApprovedCall extends ServerCall {
  /** The model's arguments, unparsed. */
  readonly argumentsText: string
}

/** A conversation with one message: a text to complete, for providers with a text-completion API. */
export interface TextInput extends ChatInput {
  readonly text: {
    readonly prompt: string
    /** The text after the gap. */
    readonly suffix?: string
    /** Repeats the prompt before the completion. Default: false. */
    readonly echo?: true
  }
}

export interface OriginalInput {
  /** The caller's field for the conversation. */
  readonly field: 'messages' | 'input'
  /** Where the caller wrote messages, parts, calls and tools: `input[2].content[0]`. */
  readonly places: ReadonlyMap<object, string>
  /**
   * Returns the caller's path of a field within an object of `places`: `.arguments` for
   * `.function.arguments`; empty if the caller has no such field. Default: the same path.
   */
  readonly fieldName?: (path: string, of: object) => string
  /** The objects of `places`, if those of the request are copies of them in the same order. */
  readonly positions?: Pick<ChatInput, 'messages' | 'tools'>
}

export type ChatCall = ValidCall<ChatInput>

/** The call after its routes were chosen. */
export type RoutedChatCall = RoutedCall<ChatInput>
