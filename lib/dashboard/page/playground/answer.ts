/** One answer of a model as it arrives: its text, its reasoning, its tool runs, and its usage. */

export interface ToolRun {
  readonly id: string
  readonly name: string
  readonly server: string
  readonly state: 'running' | 'done' | 'failed'
  readonly durationMs?: number
  readonly progress?: string
  readonly arguments?: unknown
  readonly result?: unknown
}

export interface AnswerUsage {
  readonly prompt: number
  readonly completion: number
  readonly cached: number
}

export interface Answer {
  readonly state: 'running' | 'done' | 'stopped' | 'failed'
  readonly text: string
  readonly thinking: string
  readonly tools: readonly ToolRun[]
  /** Function calls, which the page does not run. */
  readonly functionCalls: ReadonlyArray<{ readonly name: string, readonly arguments: string }>
  /** Failed servers with their messages. */
  readonly serverErrors: readonly string[]
  readonly startedAtMs: number
  readonly firstTokenMs?: number
  readonly durationMs?: number
  readonly model?: string
  readonly requestId?: string
  readonly attempts?: number
  readonly usage?: AnswerUsage
  readonly finishReason?: string
  readonly error?: string
}

export function newAnswer (): Answer {
  return {
    state: 'running',
    text: '',
    thinking: '',
    tools: [],
    functionCalls: [],
    serverErrors: [],
    startedAtMs: performance.now()
  }
}

/** The fields read from a `chat.completion.chunk`. */
export interface Chunk {
  readonly model?: string
  readonly choices?: ReadonlyArray<{
    readonly delta?: {
      readonly content?: string | null
      readonly refusal?: string | null
      readonly reasoning_content?: string
      readonly tool_calls?: ReadonlyArray<{
        readonly index: number
        readonly function?: { readonly name?: string, readonly arguments?: string }
      }>
    }
    readonly finish_reason?: string | null
  }>
  readonly usage?: {
    readonly prompt_tokens: number
    readonly completion_tokens: number
    readonly prompt_tokens_details?: { readonly cached_tokens?: number }
  } | null
  readonly tool_event?: {
    readonly type: string, readonly id: string, readonly name: string, readonly server_name: string | null
    readonly is_error?: boolean, readonly duration_ms?: number, readonly message?: string
  }
  readonly mcp_tool_results?: ReadonlyArray<{
    readonly tool_name: string
    readonly arguments: unknown
    readonly result?: unknown
    readonly is_error: boolean
    readonly duration_ms?: number
  }>
  readonly mcp_server_errors?: Readonly<
    Record<string, { readonly message: string, readonly recommendation?: string }>
  >
  readonly tool_loop_stopped?: { readonly reason: string }
  readonly error?: { readonly message: string }
}

export function withChunk (answer: Answer, chunk: Chunk): Answer {
  const {
    choices: [choice] = [],
    usage,
    tool_event: event,
    mcp_tool_results: results,
    mcp_server_errors: errors,
    error
  } = chunk
  const text = choice?.delta?.content ?? choice?.delta?.refusal ?? ''
  const thinking = choice?.delta?.reasoning_content ?? ''
  const first = answer.firstTokenMs === undefined && (text !== '' || thinking !== '')
  return {
    ...answer,
    text: answer.text + text,
    thinking: answer.thinking + thinking,
    functionCalls: withCalls(answer.functionCalls, choice?.delta?.tool_calls ?? []),
    ...first && { firstTokenMs: performance.now() - answer.startedAtMs },
    ...chunk.model !== undefined && { model: chunk.model },
    ...typeof choice?.finish_reason === 'string' && { finishReason: choice.finish_reason },
    ...usage !== null &&
      usage !== undefined && {
        usage: {
          prompt: usage.prompt_tokens,
          completion: usage.completion_tokens,
          cached: usage.prompt_tokens_details?.cached_tokens ?? 0
        }
      },
    ...event !== undefined && { tools: withEvent(answer.tools, event) },
    ...results !== undefined && { tools: withResults(answer.tools, results) },
    ...errors !== undefined && {
      serverErrors: Object.entries(errors).map(
        ([name, { message, recommendation }]) =>
          `${name}: ${message}${recommendation === undefined ? '' : ` ${recommendation}`}`
      )
    },
    ...chunk.tool_loop_stopped !== undefined && {
      finishReason: `tools stopped: ${chunk.tool_loop_stopped.reason}`
    },
    ...error !== undefined && { state: 'failed', error: error.message }
  }
}

function withCalls (
  calls: Answer['functionCalls'],
  pieces: NonNullable<NonNullable<NonNullable<Chunk['choices']>[number]['delta']>['tool_calls']>
): Answer['functionCalls'] {
  if (pieces.length === 0) return calls
  const next = [...calls]
  for (const { index, function: piece } of pieces) {
    const former = next[index] ?? { name: '', arguments: '' }
    next[index] = {
      name: former.name + (piece?.name ?? ''),
      arguments: former.arguments + (piece?.arguments ?? '')
    }
  }
  return next
}

function withEvent (
  tools: readonly ToolRun[],
  { type, id, name, server_name, is_error, duration_ms, message }: NonNullable<Chunk['tool_event']>
): readonly ToolRun[] {
  if (type === 'tool-start') return [...tools, { id, name, server: server_name ?? '', state: 'running' }]
  return tools.map(tool =>
    tool.id !== id
      ? tool
      : type === 'tool-progress'
        ? { ...tool, ...message !== undefined && { progress: message } }
        : {
            ...tool,
            state: is_error === true ? 'failed' : 'done',
            ...duration_ms !== undefined && { durationMs: duration_ms }
          }
  )
}

/** Adds arguments and results, which come at the end, to the runs of the same tool in order. */
function withResults (
  tools: readonly ToolRun[],
  results: NonNullable<Chunk['mcp_tool_results']>
): readonly ToolRun[] {
  const left = [...results]
  return tools.map(tool => {
    const [found] = left.splice(left.findIndex(({ tool_name }) => tool_name === tool.name) >>> 0, 1)
    return found === undefined
      ? tool
      : {
          ...tool,
          arguments: found.arguments,
          result: found.result,
          state: found.is_error ? 'failed' : 'done'
        }
  })
}
