/**
 * Signs in with a password, a passkey or the organisation's identity provider, as far as the gateway offers
 * them.
 */

import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { api } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { Code } from '../parts/code.tsx'
import { Input } from '../parts/input.tsx'
import { Failure } from '../parts/notice.tsx'
import { SkeletonLines } from '../parts/skeleton.tsx'
import { useAction } from '../state/action.ts'
import { useResource } from '../state/resource.ts'
import { begin, leaveToSignIn } from '../state/session.ts'
import { Frame } from './frame.tsx'
import { keepsPasskeys, readPasskey } from './passkey.ts'
import { Refused } from './refused.tsx'

export function SignIn (): JSX.Element {
  const ways = useResource('ways', signal => api('GET /admin/v1/sign-in', { signal }))
  const passkey = useAction()
  if (ways.data === undefined) {
    return (
      <Frame title='Sign in to Headgate'>
        {ways.error === undefined ? (
          <SkeletonLines lines={4} />
        ) : (
          <Failure error={ways.error} retry={() => void ways.reload()} />
        )}
      </Frame>
    )
  }
  if (ways.data.first_start) return <FirstStart />
  const { password, oidc } = ways.data
  const byPasskey = ways.data.passkey && keepsPasskeys
  return (
    <Frame title='Sign in to Headgate'>
      <Refused />
      {password && <PasswordForm />}
      {password && (byPasskey || oidc !== null) && <div class='or'>or</div>}
      {(byPasskey || oidc !== null) && (
        <div class='stack tight'>
          {byPasskey && (
            <Button icon='key' busy={passkey.busy} onClick={() => void passkey.run(signInByPasskey)}>
              Use a passkey
            </Button>
          )}
          {oidc !== null && (
            <Button icon='lock' href={oidc.url} onClick={leaveToSignIn}>
              Continue with {oidc.name}
            </Button>
          )}
          <Failure error={passkey.error} />
        </div>
      )}
      <p class='small faint'>
        Locked out? On the machine of the gateway, <code>headgate dashboard link</code> prints a one-time
        link.
      </p>
    </Frame>
  )
}

function PasswordForm (): JSX.Element {
  const email = useSignal('')
  const password = useSignal('')
  const { run, busy, error } = useAction()
  const submit = (event: Event): void => {
    event.preventDefault()
    void run(async () =>
      begin(
        await api('POST /admin/v1/sign-in/password', {
          body: { email: email.value.trim(), password: password.value }
        })
      )
    )
  }
  return (
    <form onSubmit={submit}>
      <Input
        label='Email'
        type='email'
        value={email.value}
        onInput={value => {
          email.value = value
        }}
        autocomplete='username'
        required
        autofocus
      />
      <Input
        label='Password'
        type='password'
        value={password.value}
        onInput={value => {
          password.value = value
        }}
        autocomplete='current-password'
        required
      />
      <Failure error={error} />
      <Button kind='primary' type='submit' busy={busy}>
        Sign in
      </Button>
    </form>
  )
}

async function signInByPasskey (): Promise<void> {
  const { challenge_id, options } = await api('POST /admin/v1/sign-in/passkey/options')
  begin(
    await api('POST /admin/v1/sign-in/passkey', {
      body: { challenge_id, credential: await readPasskey(options) }
    })
  )
}

function FirstStart (): JSX.Element {
  return (
    <Frame
      title='Welcome to Headgate'
      intro='No user has signed in yet. Open the one-time link that the gateway printed when it started.'
    >
      <div class='stack tight'>
        <p class='muted'>Is it gone, or was it used? Print another one on the machine of the gateway:</p>
        <Code text='headgate dashboard link' label='command' />
      </div>
    </Frame>
  )
}
