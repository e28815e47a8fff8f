/** The error reference, `docs/errors.md`: the table of codes, with the cause and the remedy of each. */

import { codes, type ErrorCode } from '../../lib/core/errors.ts'

interface Advice {
  readonly when: string
  /** Cases in which a code has another status than in the table. */
  readonly otherStatus?: string
  readonly action: string
}

const advice: Readonly<Record<ErrorCode, Advice>> = {
  invalid_api_key: {
    when: 'The request has no API key, or one that is unknown, revoked or expired.',
    action: 'Send a key of this gateway as `Authorization: Bearer <key>` or `X-API-Key`.'
  },
  invalid_credentials: {
    when: 'Sign-in to the dashboard failed: the email, the password, the link or the passkey is wrong, used or expired.',
    action: 'Try again, or make a new link with `headgate dashboard link`.'
  },
  insufficient_permissions: {
    when: 'The key is limited to other endpoints, models or tools, or has a budget and the model has no known price.',
    action: 'Use a key with this scope, or ask the operator to extend it or to set the price.'
  },
  invalid_provider_key: {
    when: 'The provider rejected the key that you sent in `X-Provider-Key`.',
    action: 'Check the key, and that `X-Provider` names the provider it belongs to.'
  },
  invalid_json: {
    when: 'The body is not JSON, not UTF-8, not an object, or nested too deeply.',
    action: 'Send one JSON object.'
  },
  invalid_value: {
    when: 'A parameter has a value that does not fit the model or another parameter.',
    otherStatus:
      '417 for an expectation other than `100-continue`; 421 for a host name that `server.accepted_hosts` does not list; 431 for headers that are too large.',
    action: 'Change the parameter that `param` names, as `message` says.'
  },
  unsupported_value: {
    when: 'A parameter has a value that would need an API that only OpenAI has, such as a tool that OpenAI runs itself.',
    action: 'Change the parameter that `param` names, as `message` says.'
  },
  unsupported_parameter: {
    when: 'The chosen model or provider does not have the parameter.',
    action: 'Leave the parameter out, or choose another model.'
  },
  context_length_exceeded: {
    when: 'The input does not fit into the context of the model.',
    action: 'Shorten the input, or choose a model with a longer context.'
  },
  content_policy_violation: {
    when: 'The provider rejected the content by its own policy.',
    action: 'Change the content. A retry has the same result.'
  },
  content_refused: {
    when: 'A [guard](guards.md) found in the request or in the answer what it refuses. In a stream it is the last message.',
    action:
      'Change the content that `message` names. A retry of the same request has the same result; another answer may pass.'
  },
  invalid_document: {
    when: 'The document is damaged, encrypted, empty or has too many pages.',
    action: 'Send another document.'
  },
  unsupported_format: {
    when: 'The bytes of a file are not of a supported format, whatever its name says.',
    action: 'Convert the file to one of the formats in `message`.'
  },
  upstream_invalid_request: {
    when: 'The provider rejected the request. The message is its own, and so is the code if it sent one.',
    otherStatus: 'that of the provider.',
    action: 'Change the request as the message says.'
  },
  unknown_provider: {
    when: '`X-Provider` names a provider that is not configured here.',
    action: 'Use one of the providers in the message.'
  },
  insufficient_quota: {
    when: 'The budget of the key is spent or too small for a useful answer, the account at the provider has no credit, or the key has too many deferred completions stored.',
    otherStatus: '429 for too many deferred completions.',
    action:
      'Wait for the next budget period or until stored completions expire, or ask the operator to raise the budget.'
  },
  not_found: {
    when: 'No endpoint has this path, the admin API has nothing with this id, or the provider of the model cannot compact responses.',
    action: 'Check the path and the id. All endpoints are listed in `/openapi.json`.'
  },
  model_not_found: {
    when: 'The model does not exist or is disabled, its provider is not enabled, or the key may not use it. Also when the provider does not have the path, as with a wrong `base_url`.',
    action:
      'Use a model of `GET /v1/models`. If the provider has it, ask the operator to check the `base_url` with `headgate doctor`.'
  },
  deferred_completion_not_found: {
    when: 'The id is unknown, has expired, or was given to another key.',
    action: 'Send the request again without `deferred`, or fetch the result earlier.'
  },
  method_not_allowed: {
    when: 'The path exists, with other methods.',
    otherStatus: '426 for a WebSocket.',
    action: 'Use a method of the `allow` header.'
  },
  conflict: {
    when: 'A name or an email is taken, or an `Idempotency-Key` was used for another request of the admin API.',
    action: 'Choose another, as `message` says.'
  },
  request_timeout: {
    when: 'The body did not arrive completely within `limits.body_ms`.',
    action: 'Retry over a faster connection, or with a smaller body.'
  },
  file_too_large: {
    when: 'The body or a file is larger than the limit that `message` names.',
    action: 'Send a smaller file.'
  },
  too_many_values: {
    when: 'The JSON body has more values than `limits.json_values`, whatever its size: reading them would take too long.',
    action: 'Send fewer messages, items or numbers at a time.'
  },
  unsupported_media_type: {
    when: 'The `content-type` or `content-encoding` is not one that the endpoint reads.',
    action: 'Send `application/json`, or `multipart/form-data` where the endpoint takes files.'
  },
  rate_limit_exceeded: {
    when: 'The key has reached a limit of requests, tokens, concurrent calls or images, open calls have reserved ' +
      'its budget, or the provider has reached a limit.',
    action: 'Retry after the seconds in `retry-after`.'
  },
  client_closed_request: {
    when: 'The client disconnected before the answer. It is only seen in logs and usage records.',
    action: 'Nothing: the client has gone.'
  },
  client_too_slow: {
    when: 'The client accepted no byte of its answer for `server.write_timeout_ms`, or for a second while others needed the memory. It is only seen in logs and usage records.',
    action: 'Read answers as they come, or cancel those that are no longer needed.'
  },
  internal_error: {
    when: 'A bug in Headgate.',
    action: 'Report it with the `x-request-id` of the answer.'
  },
  body_already_read: {
    when: 'A program embeds Headgate, and middleware of its own in front has read the body without keeping it.',
    action:
      'Mount Headgate in front of the body parser, or have the parser keep the body in `ctx.request.rawBody`.'
  },
  upstream_error: {
    when: 'The provider returned a server error.',
    action: 'Retry later, or list further models in `model`.'
  },
  upstream_unreachable: {
    when: 'No connection to the provider could be made, or it was lost before the answer began.',
    action: 'Retry later, or list further models in `model`.'
  },
  upstream_invalid_response: {
    when: 'The provider returned something that is not its API.',
    action:
      'Retry. If it persists, report it with the `x-request-id`. If the message speaks of a redirect or a page of HTML, ask the operator to check the `base_url` of the provider.'
  },
  upstream_stream_interrupted: {
    when: 'The connection to the provider ended in the middle of an answer.',
    action: 'Retry. What was received is incomplete.'
  },
  upstream_auth_failed: {
    when: 'The provider rejected the key in the configuration of this gateway.',
    action: 'Ask the operator to check the key of the provider: `headgate doctor` says where it is.'
  },
  upstream_quota_exhausted: {
    when: 'The account of this gateway at the provider has no credit.',
    action: 'Ask the operator to add credit, or choose a model of another provider.'
  },
  deferred_result_lost: {
    when: 'The provider hands out a deferred result once, and the connection broke while it did.',
    action: 'Send the request again.'
  },
  stage_unavailable: {
    when: 'A [guard](guards.md) that has to inspect the call, such as a service or a module of the operator, failed or did not answer in time.',
    action:
      'Retry later. The operator finds the reason in the log, and decides with `when_unavailable` whether such calls pass.'
  },
  upstream_overloaded: {
    when: 'The provider is overloaded.',
    action: 'Retry after the seconds in `retry-after`.'
  },
  overloaded: {
    when: 'The gateway is busy, the key already uses its share of it, too many calls wait for the provider, or the store is not available.',
    action: 'Retry after the seconds in `retry-after`.'
  },
  shutting_down: {
    when: 'The gateway process is stopping.',
    action: 'Retry. Another process takes the request.'
  },
  upstream_too_slow: {
    when: 'The stream of the provider was slower than `slow_stream` of its entry allows.',
    action: 'Send the request again; part of an answer may have arrived before.'
  },
  upstream_timeout: {
    when: 'The provider did not respond within its configured timeouts.',
    action: 'Retry, or stream the answer.'
  },
  timeout: {
    when: 'The call took longer than `limits.call_ms`, or than the `timeout` of the request.',
    action: 'Ask for a shorter answer, or use `deferred` or `background` where they are available.'
  }
}

interface OwnCode {
  readonly code: string
  readonly status: string
  readonly when: string
}

/**
 * Codes that the Responses and the Messages API send instead of those in the table, since their clients
 * expect them.
 */
const ownCodes: readonly OwnCode[] = [
  {
    code: 'missing_required_parameter',
    status: '400, 422',
    when: 'A required parameter is missing: 400 in Responses, 422 elsewhere.'
  },
  {
    code: 'invalid_type',
    status: '400, 422',
    when: 'A parameter has the wrong type: 400 in Responses, 422 elsewhere.'
  },
  { code: 'empty_array', status: '400', when: 'Responses: `input` is an empty list.' },
  {
    code: 'previous_response_not_found',
    status: '400',
    when: 'Responses: no stored response has the id in `previous_response_id`.'
  },
  {
    code: 'invalid_prompt',
    status: 'in `response.failed`',
    when: 'Responses: the answer failed, and would fail again: the request is at fault.'
  },
  {
    code: 'server_is_overloaded',
    status: 'in `response.failed`',
    when: 'Responses: the gateway or the provider is overloaded.'
  },
  {
    code: 'server_error',
    status: 'in `response.failed`',
    when: 'Responses: any other failure of the gateway or the provider.'
  },
  {
    code: 'thread_unsupported_request',
    status: '400',
    when: 'Messages: the request has a `thread`. Clients then send the entire conversation.'
  }
]

const ofOwnCodes = `
## Codes of the Responses and the Messages API

These APIs have some codes of their own in place of those above. A 404 of \`/v1/responses/{id}\` has the code null, as at OpenAI: no stored
response has this id, it was deleted or has expired, or it is of another key.

| Code | Status | When |
| --- | --- | --- |
${ownCodes.map(({ code, status, when }) => `| \`${code}\` | ${status} | ${when} |`).join('\n')}
`

const introduction = `# Errors

<!-- Generated by \`npm run docs\` from the table of codes. Do not edit. -->

A failed request gets the status of its code and this body:

\`\`\`json
{
  "error": {
    "message": "The model does not exist or is not enabled.",
    "type": "invalid_request_error",
    "code": "model_not_found",
    "param": "model"
  }
}
\`\`\`

\`message\` is for people and may change. \`code\` is stable; for an error that a provider reported it may be the
provider's own. \`param\` names the parameter at fault, or is null.

A request whose fields are missing or have wrong types or ranges gets 422 and up to 20 findings, the first of them also as \`error\`, for clients that show nothing else:

\`\`\`json
{
  "detail": [{ "loc": ["body", "messages", 0, "role"], "msg": "Field required", "type": "missing" }],
  "error": {
    "message": "Invalid value for \`messages[0].role\`: Field required.",
    "type": "invalid_request_error",
    "code": "missing_required_parameter",
    "param": "messages[0].role"
  }
}
\`\`\`

The Responses and the Messages API have the errors of OpenAI and Anthropic instead: 400 in place of 422, and for Messages
\`{"type": "error", "error": {"type", "message", "details": {"error_code"}}}\`.

After a stream has begun, an error is its last message: \`event: error\` with the same body as \`data\`; \`response.failed\` in
the Responses API.

\`retry-after\` is sent with every 429 and 503. \`x-should-retry: false\` is sent where a retry cannot help.
`

/** Returns the text of the page. */
export function errorReference (): string {
  const rows = Object.entries(codes) as Array<[ErrorCode, (typeof codes)[ErrorCode]]> // its own keys
  const sections = rows
    .toSorted(([, a], [, b]) => a.status - b.status)
    .map(([code, { status, type, message }]) =>
      [
        `## \`${code}\``,
        '',
        `**${status}** \`${type}\`: ${message}`,
        '',
        `- When: ${advice[code].when}`,
        ...otherStatusOf(code),
        `- What to do: ${advice[code].action}`
      ].join('\n')
    )
  return `${introduction}\n${sections.join('\n\n')}\n${ofOwnCodes}`
}

function otherStatusOf (code: ErrorCode): string[] {
  const { otherStatus } = advice[code]
  return otherStatus === undefined ? [] : [`- Other status: ${otherStatus}`]
}
