//! Texts that look like credentials and are not.

use heirloom_testkit::Rng;

use super::*;

/// Texts that look like credentials and are not. `§` is removed before the test.
const BENIGN: &[&str] = &[
    "max_tokens: 4096",
    "token_count = 512",
    r#""input_tokens": 12345, "cache_read_input_tokens": 67890123"#,
    "max_token=100000000",
    r#""next_page_token": "CAUQAA1b2c3d4e5f""#,
    "commit 3f786850e387550fdab836ed7e6dc881de23001b",
    "id: 550e8400-e29b-41d4-a716-446655440000",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  file.tar.gz",
    r#""integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==""#,
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
    "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7vbqajDRETjZ3T8kQ me@host",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3a me@host",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAq3v9xYz0aB1cD2eF3gH4\n-----END PUBLIC KEY-----",
    "look for `-----BE§GIN PRIVATE KEY-----` and `-----END PRIVATE KEY-----` in the file",
    "grep -r -- '-----BE§GIN RSA PRIVATE KEY-----' .",
    "task-management-and-scheduling-system-version-2",
    "a risk-free-approach-to-continuous-deployment-2024",
    "sk-folding-cube sk-chase-dot-animation-delay-2-container",
    "disk-usage-analysis-of-the-production-database-01",
    "token: the thing that says who you are",
    "password: must contain at least 8 characters and 1 symbol!",
    "The password: it was forgotten. The secret: practice, practice, practice.",
    "secret: re-entering the atmosphere at 25,000 km/h",
    "token = tokens[0]",
    "token = self.lexer.next_token()",
    "let token = parser.peek2();",
    "password = getpass.getpass()",
    "password=password",
    "connect(user=user, password=db_password_2)",
    "password=${DB_PASSWORD}",
    "PASSWORD=$DB_PASSWORD",
    "PASSWORD=\"$DB_PASSWORD_2\"",
    "password: {{ vault_password2 }}",
    "password: <your password 1>",
    "API_KEY=your_api_key_123",
    "api_key = \"YOUR-API-KEY-1234\"",
    "OPENAI_API_KEY=sk-...",
    "OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "password: changeme",
    "password = \"********\"",
    "secret: process.env.CLIENT_SECRET_2",
    "apiKey: process.env.OPENAI_API_KEY,",
    "token = os.environ[\"GITHUB_TOKEN\"]",
    "token = os.getenv('TOKEN2')",
    "token: None, secret: null, password: undefined",
    "password: string;",
    "password?: string | undefined",
    "token: Option<String>,",
    "pub token: CancellationToken2,",
    "password: String!",
    "\"password\": { \"type\": \"string\", \"minLength\": 8 }",
    "\"token\": \"string\", \"password\": \"required\"",
    "\"apiKeySource\": \"none\"",
    "password VARCHAR(255) NOT NULL",
    "PWD=/home/user/projects/app2",
    "OLDPWD=/home/user/p1",
    "\"pwd\": \"/home/user/project-01\"",
    "ssh_key: /home/user/.ssh/id_ed25519",
    "token_file: /var/run/secrets/token1",
    "password_file=/run/secrets/db1",
    "token: ./fixtures/token1.txt",
    "secretName: my-app-secret-v2",
    "secretKeyRef:\n  name: db-secret-2\n  key: password",
    "author: Jane Doe 1984",
    "authors = [\"Jane <jane@example.com>\"]",
    "auth: oauth2-proxy-v7",
    "\"auth\": \"bearer\"",
    "type: \"password\", autocomplete: \"current-password\"",
    "grant_type=password&username=a",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: `Bearer ${token}`",
    "headers: { Authorization: `Bearer ${accessToken2}` }",
    "Authorization: Basic authentication is used",
    "Authorization: AWS4-HMAC-SHA256 Credential=x",
    "uses Bearer authentication-with-rotating-keys",
    "Cookie: theme=dark; lang=en",
    "Set-Cookie: theme=dark; Path=/; Expires=Wed, 21 Oct 2026 07:28:00 GMT",
    "Cookie: see the documentation at https://example.com/cookies2",
    "https://example.com:8080/path@2x.png",
    "http://localhost:3000/@vite/client",
    "http://localhost:3000@latest",
    "https://user@host/path",
    "https://<user>:<password>@host",
    "https://$USER:$PASS@host",
    "postgres://${USER}:${PASS}@host",
    "see https://a.example and mail me:bob@b.example",
    "git@github.com:owner/repo.git",
    "[docs](https://x.example:8080)[mail](mailto:a@b.example)",
    "docker run -u 1000:1000 image",
    "color: #aabbcc; background: #0f0f0f0f",
    ".key-value-pair { width: 100px }",
    "cache-key-d41d8cd98f00b204e9800998ecf8427e",
    "primary_key: user_id_12345678",
    "public_key = \"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE\"",
    "key: value1234567",
    "keyboard: qwerty12345",
    "foreign_key=abcdef123456",
    "idempotency_key: 7d9f3c21a8",
    "compass: north12345",
    "bypass = enabled1234",
    "tokenizer: cl100k_base",
    "tokenizer = \"o200k_base\"",
    "eos_token = \"<|endoftext|>\"",
    "pad_token: \"[PAD]\"",
    "pass: 123456, fail: 0",
    "# pass 1234567",
    "eyJ is how a JWT begins; eyJhbGciOiJIUzI1NiJ9 is a header",
    "AKIA is the prefix of access keys, AIza that of Google's",
    "the hf_hub_download and hf_transfer functions; npm_config_registry; npm_lifecycle_event",
    "glpat-, ghp_ and xoxb- are prefixes",
    "hvs.example dapi SG.com",
    "SKU0123456789 ACCOUNT",
    "import { token } from './token2'",
    "export const TOKEN_KEY = 'auth_token';",
    "localStorage.getItem('token')",
    "if (token === 'function') return",
    "password !== confirmPassword2",
    "fn token(&self) -> Token2",
    "kind: TokenKind::Identifier2",
    "token: TokenKind.Identifier2",
    "\"forgot_password\": \"Forgot your password? Write to us 24/7!\"",
    "\"password\": \"Password\"",
    "\"token\": \"access_token\"",
    "\"secret\": \"my-secret-v2\"",
    "otpauth://totp/x?secret=YOUR_SECRET",
    "AccountKey=<key>;",
    "\"signature\": \"EqQBCkYIARgCKkBq3v9xYz0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3a\"",
    "toolu_01A09q90qw90lq917835lq9 msg_01XFDUDYJgAACzvnptvVoYEL req_011CSHoEeqs5C35K2UUqR7Fy",
    "password = [redacted:password]",
    "\"token\": \"[REDACTED]\"",
    "2024-05-01T10:00:00Z token refreshed, secret rotated, key imported",
    "-----BEGIN PGP PUBLIC KEY BLOCK-----\nmQENBFq3v9xYz0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1w\n-----END PGP PUBLIC KEY BLOCK-----",
    "1234567890:AAAA",
    "12:AA:0b:cc:dd:ee",
    "'Test2::Event::Pass' => '1.302190',",
    "pass => $self->{passed},",
    "pub pw_passwd: *const c_char,",
    "proxy = \"socks5h://<username>:<password>@proxy-host\"",
    "const PASS8 = 0x08000000;",
    "_token = r'(?:[%s]+|%s)' % (a, b)",
    "private_key: ed25519.Ed25519PrivateKey, other",
    "CHALLENGE_PASSWORD: \"challengePassword\"",
    "--password --inputbox",
    "passphrase= password= scmVersion= ",
];

#[test]
fn look_alikes_stay() {
    let wrong: Vec<_> = BENIGN
        .iter()
        .map(|text| text.replace('§', ""))
        .filter(|text| !spans(text).is_empty())
        .map(|text| redact(&text).into_owned())
        .collect();
    assert!(wrong.is_empty(), "{} altered\n{}", wrong.len(), wrong.join("\n"));
}

/// A random line as programs and people write it, without a credential.
fn benign(rng: &mut Rng) -> String {
    const WORDS: &[&str] = &[
        "token", "secret", "password", "key", "auth", "session", "cookie", "access", "private", "the", "value", "risk",
        "task", "disk", "count", "parser", "stream", "client", "server", "config", "user", "read", "write", "state",
        "bearer", "basic", "node", "tree", "hash", "index", "page", "limit", "refresh", "public",
    ];
    fn word(rng: &mut Rng) -> &'static str {
        WORDS[rng.below(WORDS.len())]
    }
    let (a, b, c) = (word(rng), word(rng), word(rng));
    let n = rng.below(100_000);
    let hash = |rng: &mut Rng, n| hex(rng, n);
    match rng.below(32) {
        0 => format!("\"{a}_tokens\": {n}"),
        1 => format!("max_{a}_tokens = {n}"),
        2 => format!("commit {}", hash(rng, 40)),
        3 => format!("{}  {a}-{b}.tar.gz", hash(rng, 64)),
        4 => {
            format!("\"id\": \"{}-{}-{}-{}-{}\"", hash(rng, 8), hash(rng, 4), hash(rng, 4), hash(rng, 4), hash(rng, 12))
        }
        5 => format!("the {a}: {b} {c} is what {a} {b} means"),
        6 => format!("{a}: {b}, {c}: {n}"),
        7 => format!(".{a}-{b} {{ color: #{}; margin: {n}px }}", hash(rng, 6)),
        8 => format!("integrity: sha512-{}==", alnum(rng, 86)),
        9 => format!("data:image/png;base64,{}", alnum(rng, 400)),
        10 => format!("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{} {a}@{b}", alnum(rng, 43)),
        11 => format!("{a}-{b}-{c}-{n}"),
        12 => format!("{a}_{b} = self.{b}.{c}_{a}"),
        13 => format!("let {a}_{b} = {c}.{a}({n});"),
        14 => format!("{a}={a}, {b}={b}, {c}={c}_{a}"),
        15 => format!("{a}: ${{{}_{}}}", b.to_uppercase(), c.to_uppercase()),
        16 => format!("{}_{}=${}", a.to_uppercase(), b.to_uppercase(), c.to_uppercase()),
        17 => format!("{a}_{b}: string; {c}: number;"),
        18 => format!("https://{a}.example.com:{}/{b}/{c}@{n}.js", 1000 + n % 9000),
        19 => format!("\"{a}\": \"<your {b} {c}>\""),
        20 => format!("--{a}-{b} {c}"),
        21 => format!("{a} {b} == null || {c} === '{a}'"),
        22 => format!("/home/user/{a}/{b}_{n}/{c}.rs:{n}:{}", n % 80),
        23 => format!("| {a} | {b} | {} |", hash(rng, 7)),
        24 => format!("fn {a}_{b}(&self, {c}: &str) -> Option<{}>", n),
        25 => format!("{a}_{b}: process.env.{}_{n}", c.to_uppercase()),
        26 => format!("\"toolUseID\":\"toolu_01{}\",\"{a}\":true", alnum(rng, 22)),
        27 => format!("sk-{a}-{b}-{c}-{n}"),
        28 => format!("{a}_path = \"/var/{b}/{c}{n}\""),
        29 => format!("index {}..{} 100644", hash(rng, 7), hash(rng, 7)),
        30 => format!("name = \"{a}-{b}\"\nversion = \"{n}.2\"\nchecksum = \"{}\"", hash(rng, 64)),
        _ => format!("{a} {b} {c}! {a}? \"{b}\" ({c}) {n}%"),
    }
}

#[test]
fn fewer_than_one_in_a_thousand_look_alikes_is_altered() {
    let mut rng = Rng::new(3);
    let total = 20_000;
    let altered: Vec<_> = (0..total)
        .map(|_| benign(&mut rng))
        .filter(|text| !spans(text).is_empty())
        .map(|text| redact(&text).into_owned())
        .collect();
    assert!(
        altered.len() * 1000 < total,
        "{} of {total}\n{}",
        altered.len(),
        altered[..altered.len().min(40)].join("\n")
    );
}
