/** Errors of document requests. */

import { readError as readDialectError } from '../chat-completions/errors.ts'
import { objectOf, nonEmptyText } from '../../json/type-guards.ts'
import type { Failure } from '../provider-failure.ts'
import type { UpstreamFailure } from '../provider.ts'

/**
 * Interprets a non-2xx response. If the provider rejects the request that the adapter wrote, that is our
 * fault, unless the error concerns the document. The error's `input` repeats the entire request and is
 * ignored.
 */
export function readError (failure: UpstreamFailure): Failure {
  const { status, body } = failure
  const outer = objectOf(body) ?? {}
  const said = objectOf(outer['error']) ?? outer // nested where a gateway or a cloud serves the model
  const message = nonEmptyText(said['message']) ?? nonEmptyText(objectOf(said['message'])?.['detail']) ?? ''
  if (status === 400 && /image\/\w{1,40} is not supported/i.test(message)) {
    return { kind: 'invalid_format', param: 'document', cause: { status, words: message } }
  }
  if (status === 422) {
    const detail = Array.isArray(said['detail']) ? said['detail'] : []
    const aboutDocument = detail.some(row =>
      JSON.stringify(objectOf(row)?.['loc'] ?? '').includes('document')
    )
    return aboutDocument || detail.length === 0
      ? { kind: 'invalid_document', param: 'document', cause: { status } }
      : { kind: 'rejected', cause: { status } }
  }
  const fact = readDialectError({ ...failure, body: { message, type: said['type'], code: said['code'] } })
  return fact.kind === 'invalid_request' ? { ...fact, kind: 'invalid_document', param: 'document' } : fact
}
