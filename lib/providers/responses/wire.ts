/**
 * OpenAI's Responses API: what we send, and the received fields that we read, all optional and of type
 * unknown.
 */

import type { ReasoningItem } from '../../chat/reasoning-item.ts'

export interface WireResponse {
  status?: unknown
  error?: unknown
  incomplete_details?: unknown
  output?: unknown
  service_tier?: unknown
  usage?: unknown
}

export interface WireItem {
  id?: unknown
  type?: unknown
  content?: unknown
  /** Of a message. */
  phase?: unknown
  summary?: unknown
  encrypted_content?: unknown
  call_id?: unknown
  name?: unknown
  /** Arguments of a function call, as JSON. */
  arguments?: unknown
  /** Input of a custom tool call. */
  input?: unknown
  /** The step of a `web_search_call`: `search`, `open_page` or `find_in_page`. */
  action?: unknown
}

export interface WirePart {
  type?: unknown
  text?: unknown
  refusal?: unknown
  annotations?: unknown
  logprobs?: unknown
}

export interface WireStreamEvent {
  type?: unknown
  response?: unknown
  output_index?: unknown
  item_id?: unknown
  summary_index?: unknown
  item?: unknown
  delta?: unknown
  logprobs?: unknown
  text?: unknown
  refusal?: unknown
  arguments?: unknown
  input?: unknown
  error?: unknown
}

export type InputPart =
  | { type: 'input_text', text: string }
  | { type: 'input_image', image_url: string, detail: string }
  | { type: 'input_file', file_data?: string, file_url?: string, file_id?: string, filename?: string }

export type InputItem =
  | { type: 'message', role: 'system' | 'developer' | 'user', content: string | InputPart[] }
  | { type: 'message', role: 'assistant', content: string, phase?: string }
  | ReasoningItem
  | { type: 'function_call', call_id: string, name: string, arguments: string }
  | { type: 'custom_tool_call', call_id: string, name: string, input: string }
  | { type: 'function_call_output' | 'custom_tool_call_output', call_id: string, output: string }

export type WireTool = Readonly<Record<string, unknown>> & { readonly type: string }

/** The request body, without the fields that are forwarded unchanged. */
export interface ResponsesBody {
  model: string
  input: InputItem[]
  store: boolean
  include: string[]
  stream?: true
  stream_options?: { include_obfuscation: false }
  max_output_tokens?: number
  reasoning?: { effort?: string, summary?: 'auto' | 'concise' | 'detailed' }
  text?: { format?: Record<string, unknown>, verbosity?: string }
  tools?: WireTool[]
  tool_choice?: unknown
  parallel_tool_calls?: boolean
  service_tier?: string
  [forwarded: string]: unknown
}
