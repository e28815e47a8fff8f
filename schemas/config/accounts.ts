/** `accounts` of `headgate.yaml`: ways to sign in to the dashboard besides passwords and passkeys. */

import { Type } from 'typebox'
import { Role, roleNames } from '../admin/common.ts'
import { OneOf } from '../nullable.ts'
import { Closed, HttpUrl, Named, Section, Text } from './entries.ts'
import { Secret } from './secret.ts'

export const OidcConfig = Closed(
  {
    name: Type.String({
      minLength: 1,
      default: 'single sign-on',
      description: 'Name of the provider on the page: “Continue with …”.'
    }),
    issuer: HttpUrl('Address of the provider; the rest is read from its `/.well-known/openid-configuration`.'),
    client_id: Text(
      'Client id of the gateway at the provider. Its redirect address is ' +
      '`/admin/v1/sign-in/oidc/callback` below `server.public_url`.'
    ),
    client_secret: Type.Optional(Secret('The secret of that client. Default: none, for a public client.')),
    scopes: Type.Array(Text('A scope.'), {
      default: ['openid', 'email', 'profile'],
      description: 'Scopes to request; `openid` is needed.'
    }),
    groups_claim: Type.String({
      minLength: 1,
      default: 'groups',
      description: 'The claim that lists the groups of a person.'
    }),
    roles: Named(
      Role,
      'Role by group, the highest one of all groups of a person, applied at each sign-in. Default: roles ' +
      'are given in the dashboard.'
    ),
    default_role: Type.Optional(
      OneOf([...roleNames], {
        description:
          'Role of people in none of these groups. Default: with `roles`, they are refused; without, new ' +
          'users are viewers.'
      })
    ),
    allowed_domains: Type.Array(
      Type.String({
        pattern: '^[A-Za-z0-9.-]+$',
        patternErrorMessage: 'must be a domain such as `example.com`'
      }),
      {
        default: [],
        description:
          'Domains of the emails of people who may sign in. Default: everyone whom the provider knows.'
      }
    )
  },
  { description: 'An OpenID Connect provider that people can sign in with. Default: none.' }
)

export const AccountsConfig = Section(
  { oidc: Type.Optional(OidcConfig) },
  'Ways to sign in to the dashboard.'
)
