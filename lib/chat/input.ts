/**
 * The input that stages and adapters work on, whichever dialect the caller speaks: each dialect's `input`
 * makes it.
 */

import type { RoutedCall, ValidCall } from '../core/call.ts'
import type { ChatRequest } from '../../schemas/chat.ts'
import type { Message } from '../../schemas/messages.ts'

type Alias =
  | 'messages' | 'input' | 'instructions' | 'system' | 'system_instruction'
  | 'stop_sequences' | 'auto_execute_tools' | 'cachedContent' | 'service_tier'

/**
 * One conversation: `messages` is all of it, the system prompt included, in the shapes of chat completions
 * without their aliases.
 */
export interface ChatInput extends Omit<ChatRequest, Alias> {
  readonly messages: readonly Message[]
  readonly service_tier?: Exclude<ChatRequest['service_tier'], 'fast'>
  /** The origin of the messages, so that errors can name the caller's field. */
  readonly originalInput?: OriginalInput
  /** The caller's names of fields that this form has other names for. */
  readonly callerNames?: Readonly<Record<string, string>>
  /**
   * All of the conversation in the caller's dialect, where a provider of that dialect may read more of it
   * than this form has. Absent once turns were added.
   */
  readonly asWritten?: object
  /**
   * Default: no call waits, the answer is one message that reports neither turns nor the tools of servers,
   * and those of their calls that were not run are shown as calls of functions.
   */
  readonly toolApproval?: ToolApproval
  /** True for a caller who reads the thinking, where the model thinks. */
  readonly showsThinking?: true
  /** Calls of server tools that may be run. Default: those of `max_turns` turns. */
  readonly max_tool_calls?: number
}

/** Consent of the caller to calls of server tools. */
export interface ToolApproval {
  /** Returns whether a call must wait for it. */
  readonly isNeeded: (serverName: string, toolName: string) => boolean
  /**
   * Calls of server tools in `messages`. They have names that every provider takes, until it is known by
   * which ones their tools are offered.
   */
  readonly calls: readonly ServerCall[]
  /**
   * Those of them that may be run now. Each has an empty result in `messages`; its id is that of the consent.
   */
  readonly approved: readonly ApprovedCall[]
}

export interface ServerCall {
  /** Id of the call in `messages`. */
  readonly id: string
  readonly serverName: string
  readonly toolName: string
}

export interface ApprovedCall extends ServerCall {
  /** As the model wrote them. */
  readonly argumentsText: string
}

/**
 * A conversation of one message, which is a text to be completed: as it is for providers with an API for
 * that.
 */
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
  readonly field: 'messages' | 'input'
  readonly messages: readonly Message[]
  /** The field the system prompt in front came from. */
  readonly systemPromptField: 'instructions' | 'system' | 'system_instruction'
}

export type ChatCall = ValidCall<ChatInput>

/** The same call once its routes are chosen. */
export type RoutedChatCall = RoutedCall<ChatInput>
