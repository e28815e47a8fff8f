/** Makes calls of the public API, with the key of the playground. */

import { readError } from '../api/client.ts'
import { project } from './conversation.ts'
import { callHeaders } from './key.ts'

export interface CallInit {
  /** JSON, or a form. */
  readonly body: Readonly<Record<string, unknown>> | FormData
  readonly signal?: AbortSignal
  readonly headers?: Readonly<Record<string, string>>
}

/** @throws ApiError for every answer that is not a success. */
export async function call (path: string, { body, signal, headers = {} }: CallInit): Promise<Response> {
  const isForm = body instanceof FormData
  const response = await fetch(path, {
    method: 'POST',
    headers: {
      ...(await callHeaders(project.value)),
      ...!isForm && { 'content-type': 'application/json' },
      ...headers
    },
    body: isForm ? body : JSON.stringify(body),
    ...signal !== undefined && { signal }
  })
  if (!response.ok) throw await readError(response)
  return response
}
