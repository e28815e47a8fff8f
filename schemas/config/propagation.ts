import { OneOf } from '../nullable.ts'

/** `propagate` of providers and tool servers. */
export const Propagation = OneOf(['none', 'traceparent', 'all'], {
  description:
    'What the server gets of the trace of a call, where traces are sent: nothing, `traceparent` and `tracestate`, or `baggage` of the caller as well. With a value other than `none`, a provider also gets the `x-request-id` of the call. Default: `traceparent` for programs of this machine, addresses that are not public and names such as `*.internal`, else `none`.'
})
