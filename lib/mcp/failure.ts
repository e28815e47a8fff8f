/**
 * Explains failures of tool servers to the caller: the failed step, the reason, and what to do. Messages of
 * servers are never quoted, because they may contain anything.
 */

import { property } from '../json/type-guards.ts'
import { causes, httpStatus, isJsonRpcError, isNetworkError } from './error-causes.ts'
import { brokenAnswerCode, listTooLargeCode, noAnswerCode, noMemoryCode } from './repair-message.ts'
import { addressRefused, answerTooLarge, portRefused } from './guarded-fetch.ts'
import type { ToolServerError } from '../core/events.ts'

const tryLater = 'Try again later, or remove the server from `mcp_servers`.'

/** Steps to a tool's answer. */
export type Phase = 'resolve' | 'connect' | 'initialize' | 'list' | 'call'

/** A failure of a tool server, as its caller sees it. */
export class ToolServerFailure extends Error {
  readonly phase: Phase
  readonly recommendation: string | undefined

  constructor (
    phase: Phase,
    message: string,
    { recommendation, cause }: { recommendation?: string | undefined, cause?: unknown } = {}
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'ToolServerFailure'
    this.phase = phase
    this.recommendation = recommendation
  }

  /** Returns the failure for the caller; `code` is the phase. */
  toError (): ToolServerError {
    const { message, phase, recommendation } = this
    return { message, code: phase, ...recommendation !== undefined && { recommendation } }
  }
}

/** What is known of an error. */
interface FailedStep {
  readonly status: number | undefined
  /** The error and its causes. */
  readonly links: readonly unknown[]
  /** The codes of all links. */
  readonly codes: ReadonlySet<unknown>
}

/** A text, or how to write it. */
type Wording = string | ((failed: FailedStep) => string)

interface Explanation {
  readonly message: Wording
  readonly recommendation?: Wording
  /** The step to report. Default: the one that failed. */
  readonly phaseOf?: (phase: Phase) => Phase
}

const always = (phase: Phase) => (): Phase => phase
/** A server that responds has been connected to. */
const afterConnecting = (phase: Phase): Phase => phase === 'connect' ? 'initialize' : phase

const hasCode = (...codes: readonly unknown[]) => (failed: FailedStep): boolean =>
  codes.some(code => failed.codes.has(code))

const timeout: Explanation = {
  message: 'The tool server did not answer in time.',
  recommendation: tryLater
}

/** The explanation of an error that no row of the table matches. */
const notMcp: Explanation = {
  message: 'The tool server did not follow the MCP protocol.',
  recommendation: 'Check that the address is the MCP endpoint of the server.',
  phaseOf: afterConnecting
}

/** The first match wins. */
const explanations: ReadonlyArray<Explanation & { readonly matches: (failed: FailedStep) => boolean }> = [
  {
    matches: hasCode(addressRefused),
    message: 'The address of the tool server is not public.',
    recommendation: 'Use a public address, or ask the operator to list the host in `tools.allowed_hosts`.',
    phaseOf: always('connect')
  },
  {
    matches: ({ status }) => status === 401 || status === 403,
    message: ({ status }) => `The tool server refused access (HTTP ${status}).`,
    recommendation:
      'Send credentials in `authorization`, `headers` or `credentials` of its entry in `mcp_servers`.',
    phaseOf: afterConnecting
  },
  {
    matches: ({ status }) => status !== undefined,
    message: ({ status }) => `The tool server responded with HTTP ${status}.`,
    recommendation: ({ status = 0 }) => adviceFor(status),
    phaseOf: afterConnecting
  },
  {
    matches: hasCode(answerTooLarge, listTooLargeCode),
    message: 'The answer of the tool server is too large.'
  },
  {
    matches: hasCode(noMemoryCode),
    message: 'The gateway does not have enough free memory for the response of the tool server.',
    recommendation: 'Try again later, or have the tool return less.'
  },
  {
    matches: hasCode(portRefused),
    message: 'The tool server could not be reached: HTTP clients do not connect to its port.',
    recommendation: 'Use another port; see https://fetch.spec.whatwg.org/#port-blocking.',
    phaseOf: always('connect')
  },
  {
    // EPIPE: a program that exits before it has read the first message
    matches: hasCode('CONNECTION_CLOSED', 'EPIPE'),
    message: 'The tool server ended the connection before its answer.',
    recommendation: tryLater
  },
  {
    matches: ({ links }) => links.some(isNetworkError),
    message: ({ links }) => `The tool server could not be reached (${codeOf(links.find(isNetworkError))}).`,
    recommendation: 'Check the address, and that the server is running.'
  },
  { matches: hasCode('REQUEST_TIMEOUT'), ...timeout },
  {
    matches: hasCode('LIST_PAGINATION_EXCEEDED'),
    message: 'The tool list of the tool server has too many pages.'
  },
  {
    matches: hasCode('UNSUPPORTED_RESULT_TYPE', 'CAPABILITY_NOT_SUPPORTED', 'INPUT_REQUIRED_ROUNDS_EXCEEDED'),
    message: 'The tool needs input from its user, or answers later. Neither is available here.',
    recommendation: 'Use other tools, or leave this one out of `allowed_tools`.'
  },
  {
    matches: ({ links }) => links.some(isUnknownVersion),
    message: 'The tool server speaks a version of the MCP protocol that the gateway does not know.',
    recommendation: 'Update the gateway, or use a server that speaks an earlier version as well.',
    phaseOf: afterConnecting
  },
  {
    matches: hasCode(noAnswerCode),
    message: 'The tool server ended its answer without a result.',
    recommendation: tryLater
  },
  {
    matches: hasCode(brokenAnswerCode),
    message: 'The answer of the tool server was not valid JSON-RPC.',
    recommendation:
      'Its answers need `jsonrpc: "2.0"`, the `id` of the request, and `result` or `error`, not both.'
  },
  {
    matches: ({ links }) => links.some(isJsonRpcError),
    message: ({ links }) =>
      `The tool server refused the request (JSON-RPC error ${codeOf(links.find(isJsonRpcError))}).`,
    recommendation: 'Check the address, the headers and the credentials of its entry in `mcp_servers`.'
  }
]

/** Converts an error to a `ToolServerFailure`; `phase` is the failed step. */
export function asFailure (error: unknown, phase: Phase): ToolServerFailure {
  if (error instanceof ToolServerFailure) return error
  const links = [...causes(error)]
  const codes = new Set(links.map(link => property(link, 'code')))
  const failed: FailedStep = { status: httpStatus(error), links, codes }
  return explained(explanations.find(({ matches }) => matches(failed)) ?? notMcp, failed, phase, error)
}

/** Returns the failure of a server that timed out. */
export function timedOut (phase: Phase, cause?: unknown): ToolServerFailure {
  return explained(timeout, { status: undefined, links: [], codes: new Set() }, phase, cause)
}

function explained (
  { message, recommendation, phaseOf }: Explanation,
  failed: FailedStep,
  phase: Phase,
  cause: unknown
): ToolServerFailure {
  const worded = (text: Wording): string => typeof text === 'string' ? text : text(failed)
  return new ToolServerFailure(phaseOf?.(phase) ?? phase, worded(message), {
    recommendation: recommendation && worded(recommendation),
    cause
  })
}

/** Detects an error of the client library that has no code. */
function isUnknownVersion (link: unknown): boolean {
  return String(property(link, 'message')).startsWith('Server\'s protocol version is not supported')
}

function codeOf (link: unknown): string {
  return String(property(link, 'code'))
}

function adviceFor (status: number): string {
  if (status === 404) return 'Check the address: no tool server answers there.'
  if (status === 429) return 'Try again later: the tool server limits its request rate.'
  return status >= 500 ? tryLater : 'Check the address and the headers of the server.'
}
