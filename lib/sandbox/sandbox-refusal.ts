/** Refusals of the sandbox: the error bodies of the dialect, by status. */

import { jsonScript, type Script } from './script.ts'

export interface RefusalOptions {
  readonly code?: string | undefined
  readonly param?: string | undefined
  readonly retryAfterSeconds?: number | undefined
}

/** Thrown by a handler; the transport answers with `status` and the body of the dialect. */
export class SandboxRefusal extends Error {
  readonly status: number
  readonly options: RefusalOptions

  constructor (status: number, message: string, options: RefusalOptions = {}) {
    super(message)
    this.name = 'SandboxRefusal'
    this.status = status
    this.options = options
  }

  toBody (): object {
    return errorBody(this.status, this.message, this.options)
  }

  toScript (): Script {
    const { retryAfterSeconds } = this.options
    return jsonScript(this.status, this.toBody(), retryAfterSeconds === undefined
      ? {}
      : { 'retry-after': String(retryAfterSeconds) })
  }
}

export function errorBody (status: number, message: string, { code, param }: RefusalOptions = {}): object {
  return {
    error: { message, type: typeFor(status), param: param ?? null, code: code ?? codeFor(status) }
  }
}

function typeFor (status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status < 500 ? 'invalid_request_error' : 'server_error'
}

function codeFor (status: number): string | null {
  if (status === 401) return 'invalid_api_key'
  if (status === 404) return 'model_not_found'
  if (status === 429) return 'rate_limit_exceeded'
  return null
}
