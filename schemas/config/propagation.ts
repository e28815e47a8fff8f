import { OneOf } from '../nullable.ts'

/** `propagate` of providers and tool servers. */
export const Propagation = OneOf(['none', 'traceparent', 'all'], {
  description:
    'Which trace context the server gets, where traces are sent: none, `traceparent` and `tracestate`, or ' +
    "the caller's `baggage` as well. With a value other than `none`, a provider also gets the " +
    '`x-request-id` of the call. Default: `traceparent` for programs of this machine, addresses that are ' +
    'not public and names such as `*.internal`, else `none`.'
})
