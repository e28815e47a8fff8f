/** `dashboard` of `headgate.yaml`. */

import { Type } from 'typebox'
import { Section } from './entries.ts'

export const DashboardConfig = Section(
  {
    enabled: Type.Boolean({
      default: true,
      description:
        'False: there is no dashboard and no admin API. `dashboard: false` says the same, and `dashboard: true` the opposite.'
    }),
    insecure: Type.Boolean({
      default: false,
      description:
        'True: serve the dashboard beyond loopback without TLS, so that passwords travel in cleartext. Default: there it needs `server.tls` or `server.trust_proxy`.'
    }),
    edit_config: Type.Boolean({
      default: false,
      description: 'True: owners may save the configuration file in the dashboard.'
    })
  },
  'The dashboard at `/dashboard/`, and the admin API behind it.'
)
