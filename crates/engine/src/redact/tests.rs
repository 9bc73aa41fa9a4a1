//! Every credential here is put together while the test runs, so that the source itself contains none.

use std::collections::BTreeSet;

use heirloom_testkit::{Rng, shared};
use proptest::prelude::*;

use super::{Kind, redact, spans};

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const HEX: &str = "0123456789abcdef";

fn of(rng: &mut Rng, alphabet: &str, length: usize) -> String {
    let letters = alphabet.as_bytes();
    (0..length).map(|_| *rng.pick(letters) as char).collect()
}

fn alnum(rng: &mut Rng, length: usize) -> String {
    let upper = LOWER.to_uppercase();
    let mut text = of(rng, &format!("{LOWER}{upper}0123456789"), length);
    // Chance leaves the digits out now and then; a test is no place for that.
    text.replace_range(3..6, "Q7x");
    text
}

fn hex(rng: &mut Rng, length: usize) -> String {
    of(rng, HEX, length)
}

fn upper(rng: &mut Rng, length: usize) -> String {
    of(rng, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", length)
}

/// One credential of each family that has a shape of its own.
fn shaped(rng: &mut Rng) -> Vec<(Kind, String)> {
    let mut all = Vec::new();
    let mut add = |kind, parts: &[&str]| all.push((kind, parts.concat()));
    for head in ["AKIA", "ASIA"] {
        add(Kind::AwsKey, &[head, &upper(rng, 16)]);
    }
    for head in ["ghp", "gho", "ghu", "ghs", "ghr"] {
        add(Kind::GithubToken, &[head, "_", &alnum(rng, 36)]);
    }
    add(Kind::GithubToken, &["github", "_pat_", &alnum(rng, 22), "_", &alnum(rng, 59)]);
    add(Kind::GitlabToken, &["glpat", "-", &alnum(rng, 20)]);
    for head in ["xoxb", "xoxa", "xoxp", "xoxr", "xoxs"] {
        add(Kind::SlackToken, &[head, "-", "123456789012-1234567890123-", &alnum(rng, 24)]);
    }
    for head in ["sk_live", "rk_live", "sk_test"] {
        add(Kind::StripeKey, &[head, "_", &alnum(rng, 24)]);
    }
    add(Kind::OpenAiKey, &["sk", "-", &alnum(rng, 48)]);
    add(Kind::OpenAiKey, &["sk", "-proj-", &alnum(rng, 40), "_", &alnum(rng, 40)]);
    add(Kind::OpenAiKey, &["sk", "-or-v1-", &hex(rng, 64)]);
    add(Kind::AnthropicKey, &["sk", "-ant-api03-", &alnum(rng, 60), "-", &alnum(rng, 30), "AA"]);
    add(Kind::GoogleKey, &["AI", "za", &alnum(rng, 35)]);
    add(Kind::GoogleOauth, &["ya29", ".", &alnum(rng, 60)]);
    add(Kind::GoogleOauth, &["GOCSPX", "-", &alnum(rng, 28)]);
    add(Kind::TwilioKey, &["S", "K", &hex(rng, 32)]);
    add(Kind::SendgridKey, &["S", "G.", &alnum(rng, 22), ".", &alnum(rng, 43)]);
    add(Kind::MailgunKey, &["key", "-", &hex(rng, 32)]);
    add(Kind::NpmToken, &["npm", "_", &alnum(rng, 36)]);
    add(Kind::PypiToken, &["pypi", "-AgEIcHlwaS5vcmc", &alnum(rng, 80)]);
    add(Kind::HuggingFaceToken, &["hf", "_", &alnum(rng, 34)]);
    add(Kind::DigitalOceanToken, &["dop", "_v1_", &hex(rng, 64)]);
    add(Kind::TelegramToken, &["123456789", ":AA", &alnum(rng, 33)]);
    add(Kind::DiscordToken, &["MTE4", &alnum(rng, 22), ".", &alnum(rng, 6), ".", &alnum(rng, 38)]);
    add(Kind::Jwt, &["ey", "JhbGciOiJIUzI1NiJ9", ".", "ey", "J", &alnum(rng, 40), ".", &alnum(rng, 43)]);
    add(Kind::VaultToken, &["hvs", ".", &alnum(rng, 90)]);
    add(Kind::DatabricksToken, &["da", "pi", &hex(rng, 32)]);
    add(Kind::ShopifyToken, &["shpat", "_", &hex(rng, 32)]);
    add(Kind::LinearKey, &["lin", "_api_", &alnum(rng, 40)]);
    add(Kind::NotionToken, &["secret", "_", &alnum(rng, 43)]);
    add(Kind::NotionToken, &["ntn", "_", &alnum(rng, 46)]);
    add(Kind::SupabaseToken, &["sbp", "_", &hex(rng, 40)]);
    add(Kind::FlyToken, &["fo1", "_", &alnum(rng, 43)]);
    add(Kind::AgeKey, &["AGE-SECRET", "-KEY-1", &upper(rng, 58)]);
    add(Kind::DockerToken, &["dckr", "_pat_", &alnum(rng, 27)]);
    add(Kind::SentryToken, &["sntrys", "_", &alnum(rng, 80)]);
    add(Kind::GrafanaToken, &["glsa", "_", &alnum(rng, 32), "_", &hex(rng, 8)]);
    add(Kind::PostmanKey, &["PMAK", "-", &hex(rng, 24), "-", &hex(rng, 34)]);
    add(Kind::NewRelicKey, &["NRAK", "-", &upper(rng, 27)]);
    add(Kind::GroqKey, &["gsk", "_", &alnum(rng, 52)]);
    add(Kind::XaiKey, &["xai", "-", &alnum(rng, 80)]);
    add(Kind::ReplicateToken, &["r8", "_", &alnum(rng, 37)]);
    add(Kind::PerplexityKey, &["pplx", "-", &alnum(rng, 48)]);
    add(Kind::NvidiaKey, &["nvapi", "-", &alnum(rng, 64)]);
    add(Kind::TavilyKey, &["tvly", "-dev-", &alnum(rng, 32)]);
    add(Kind::RubygemsToken, &["rubygems", "_", &hex(rng, 48)]);
    add(Kind::FigmaToken, &["figd", "_", &alnum(rng, 40)]);
    add(Kind::PlanetScaleToken, &["pscale", "_tkn_", &alnum(rng, 43)]);
    add(Kind::OnePasswordToken, &["ops", "_ey", "J", &alnum(rng, 200)]);
    add(Kind::SquareToken, &["sq0csp", "-", &alnum(rng, 43)]);
    add(Kind::DopplerToken, &["dp", ".pt.", &alnum(rng, 43)]);
    add(Kind::AtlassianToken, &["ATATT3", "xFfGF0", &alnum(rng, 170), "=1A2B3C4D"]);
    all
}

/// Places a credential may stand in; `@` is where.
const PLACES: &[&str] = &[
    "@",
    "The one I use is @.",
    "it is (@), I think",
    r#"{"id": 7, "value": "@", "more": true}"#,
    r#"{"content":"{\"value\":\"@\",\"n\":1}"}"#,
    r#"{"text":"first line\n@\nlast line"}"#,
    "curl -H 'X-Some: @' https://api.example.com",
    "deploy --with @ --verbose",
    r#"["deploy","--with","@"]"#,
    "https://api.example.com/v1?a=b&q=@&page=2",
    "https://api.example.com/v1?q%3D@%26page",
    "    12\t@",
    "     3→@",
    "+@",
    "\x1b[32m@\x1b[0m",
    r"\u001b[1;31m@\u001b[0m",
    "/home/me/backup/@.txt",
    "saved as dump-@.json",
    "use `@` here",
    "```\n@\n```",
    "value: @\nother: 1\n",
    "- @",
    "export SOME_TOKEN=@\n",
    "SOME_THING='@'\n",
    "<value>@</value>",
    "let value = \"@\";",
    "密码@です",
];

#[test]
fn every_family_is_found_in_every_place_and_nothing_else_is_touched() {
    let mut rng = Rng::new(1);
    let mut wrong = Vec::new();
    for _ in 0..5 {
        for (kind, credential) in shaped(&mut rng) {
            for place in PLACES {
                let text = place.replace('@', &credential);
                let expected = place.replace('@', &format!("[redacted:{}]", kind.name()));
                let got = redact(&text);
                // `cache-key-` and 32 hex digits is what caches call their files.
                let cache = kind == Kind::MailgunKey && place.contains("dump-@");
                if !cache && got != expected {
                    wrong.push(format!("{} in {place:?}: {got}", kind.name()));
                }
            }
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}

#[test]
fn a_credential_is_named_for_what_it_is_even_when_a_name_announces_it() {
    let mut rng = Rng::new(2);
    for (kind, credential) in shaped(&mut rng) {
        for text in [
            format!("API_TOKEN={credential}"),
            format!("  \"client_secret\": \"{credential}\""),
            format!("Authorization: Bearer {credential}"),
        ] {
            let found = spans(&text);
            assert_eq!(found.len(), 1, "{} in {text}", kind.name());
            assert_eq!(&text[found[0].range.clone()], credential);
            assert_eq!(found[0].kind, kind, "{text}");
        }
    }
}

/// Texts with `«»` around what has to go, and the kind it goes as.
fn contextual() -> Vec<(Kind, String)> {
    let aws = ["wJalrXUtn", "FEMI/K7MDENG/bPxRfiCY", "zKq81mTwQp"].concat();
    let made = ["q8Zk2", "mV0xL", "7rT4", "bN9c"].concat();
    let hex32 = ["0f1e2d3c4b5a6978", "8796a5b4c3d2e1f0"].concat();
    let azure = ["Xq3v", &"aB3dE5fG7h".repeat(8), "w=="].concat();
    let basic = ["YWRtaW46", "aHVudGVyMg=="].concat();
    let mut all = Vec::new();
    let mut add = |kind, text: &str| {
        let text = text
            .replace("AWS", &aws)
            .replace("MADE", &made)
            .replace("HEX", &hex32)
            .replace("AZURE", &azure)
            .replace("BASIC64", &basic)
            .replace("OTP", &["JBSWYDPE", "HPKPXPAB"].concat());
        all.push((kind, text));
    };
    use Kind::*;
    for text in [
        r#"password = "«hunter2»""#,
        "password: «hunter2»",
        "passwd='«correcthorse»'",
        r#"{"user": "bob", "password": "«S3cret!x»"}"#,
        r#"{"content":"{\"db_password\": \"«S3cret!x»\", \"port\": 5432}"}"#,
        r#"{"a":"{\\\"password\\\":\\\"«S3cret!x»\\\"}"}"#,
        "DB_PASSWORD=«postgres»\nDB_USER=app\n",
        "export PGPASSWORD=«aB3$x&y»\n",
        r"line one\nDB_PASSWORD=«hunter22»\nDB_HOST=x",
        "mysql --password=«letmeinnow» -u root",
        "mysql --password «hunter2» db",
        r#"["mysql","--password","«hunter22»","db"]"#,
        "MYSQL_PWD=«hunter2» mysqldump db",
        "Server=db;User Id=sa;Password=«Str0ng!#Pw»;Encrypt=yes",
        "jdbc:mysql://db/x?user=app&password=«hunter22»&ssl=true",
        "<password>«hunter22»</password>",
        "**Password:** «hunter22»",
        "os.environ[\"DB_PASSWORD\"] = \"«hunter22»\"",
        "config['password'] = '«hunter22»'",
        "let password: &str = \"«hunter22»\";",
        "password: str = '«hunter22»'",
        "env:\n  - name: DB_PASSWORD\n    value: \"«hunter22»\"\n",
        r#"{"name":"DB_PASSWORD","value":"«hunter22»"}"#,
        "DB_PASSWORD=\\\n  «hunter22»\n",
        "password: >-\n  «hunter22»\n",
        "spring.datasource.password=«hunter22»",
        "     7→DB_PASSWORD=«hunter22»",
        "+  password: «hunter22»",
        "`PASSWORD=«hunter22»`",
        "curl -s -u admin:«hunter22» https://x.example",
        "curl --user 'admin:«hunter22»' https://x.example",
        "dbPass: '«hunter22»'",
        "password => '«hunter22»',",
        "if password == \"«hunter22»\":",
    ] {
        add(Password, text);
    }
    for text in [
        "SOME_TOKEN=«MADE»",
        "export FOO_TOKEN=«MADE»",
        "token: «MADE»",
        "auth_token = '«MADE»'",
        "GET /v1/me?token=«MADE»&limit=5",
        "\"accessToken\": \"«MADE»\"",
        "--token «MADE»",
        "--token=«MADE»",
        "//registry.example.org/:_authToken=«MADE»",
        "PRIVATE-TOKEN: «MADE»",
        "TWILIO_AUTH_TOKEN=«HEX»",
        "auth_token: \"«HEX»\"",
        "_auth=«MADE»",
        "const token: string = \"«MADE»\";",
    ] {
        add(Token, text);
    }
    for text in [
        "client_secret=«MADE»",
        "\"client_secret\": \"«MADE»\"",
        "JWT_SECRET=«mysupersecretvalue»",
        "secret: '«s3cr3t-v4lue»'",
    ] {
        add(Secret, text);
    }
    for text in ["api_key: «MADE»", "X-Api-Key: «MADE»", "apikey=«MADE»", "{'apiKey': '«MADE»'}", "?api_key=«MADE»&x=1"]
    {
        add(ApiKey, text);
    }
    for text in ["aws_secret_access_key = «AWS»", "AWS_SECRET_ACCESS_KEY=«AWS»", "\"SecretAccessKey\": \"«AWS»\""]
    {
        add(AwsSecret, text);
    }
    add(AzureKey, "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=«AZURE»;EndpointSuffix=core.windows.net");
    add(AzureKey, "Endpoint=sb://x.example/;SharedAccessKeyName=Root;SharedAccessKey=«AZURE»");
    add(AzureKey, "https://x.blob.example/c?sv=2022&sig=«AZURE»&se=2024");
    add(TwilioKey, &format!("account A{}HEX:«HEX» there", "C"));
    for text in [
        "Authorization: Basic «BASIC64»",
        "Authorization: Bearer «MADE»MADE",
        "curl -H \"Authorization: Bearer «MADE»\" https://x",
        r#"{"Authorization": "Bearer «MADE»"}"#,
        r#"{"h":"{\"Authorization\":\"token «HEX»\"}"}"#,
        "Proxy-Authorization: Basic «BASIC64»",
        "the header is Bearer «MADE» here",
        "Authorization: «MADE»",
    ] {
        add(Authorization, &text.replace("»MADE", "»"));
    }
    for text in [
        "https://user:«pass»@host/path",
        "postgres://app:«hunter2»@db:5432/x",
        "postgresql+asyncpg://app:«p%40ss»@db/x",
        "redis://:«hunter2»@cache:6379/0",
        "amqp://guest:«guest»@mq",
        "mongodb+srv://app:«hunter2»@c0.example.net/?retryWrites=true",
        r#"{"url":"https://user:«hunter2»@host"}"#,
        "DATABASE_URL=mysql://root:«p@ss»@db/x",
        "git clone https://oauth2:«MADE»@git.example/x.git",
    ] {
        add(UrlPassword, text);
    }
    for text in [
        "Cookie: theme=dark; session=«MADE»; lang=en",
        "Set-Cookie: sid=«MADE»; Path=/; HttpOnly; Expires=Wed, 21 Oct 2026 07:28:00 GMT",
        "curl -H 'Cookie: connect.sid=«MADE»' https://x",
        "document.cookie = \"sessionid=«MADE»; path=/\"",
        "curl --cookie 'session=«MADE»' x",
        r#"{"Cookie":"PHPSESSID=«HEX»"}"#,
    ] {
        add(Cookie, text);
    }
    let hook = ["https://hooks.slack", ".com/services/"].concat();
    add(Webhook, &format!("{hook}«T0{}/B0{}/{}»", "1ABCDEF2", "3GHIJKL4", "aB3dE5fG7hI9jK1lM3nO5pQ7"));
    add(
        Webhook,
        &format!(
            "https://discord.com/api/webhooks/{}/«{}»",
            "123456789012345678",
            "aB3dE5fG7hI9jK1lM3nO5pQ7".repeat(2)
        ),
    );
    add(OtpSecret, "otpauth://totp/Example:me@x.org?secret=«OTP»&issuer=Example");
    add(
        TelegramToken,
        &format!("https://api.telegram.org/bot«123456789:A{}»/getMe", "AabcdEFGHijklMNOPqrst-vwxyz012345_"),
    );
    for label in [
        "RSA PRIVATE KEY",
        "EC PRIVATE KEY",
        "PRIVATE KEY",
        "OPENSSH PRIVATE KEY",
        "PGP PRIVATE KEY BLOCK",
        "ENCRYPTED PRIVATE KEY",
    ] {
        let line = "MIIEowIBAAKCAQEAq3v9xYz0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2yZ3a";
        let (begin, end) = (["-----BE", "GIN ", label, "-----"].concat(), ["-----E", "ND ", label, "-----"].concat());
        add(PrivateKey, &format!("key:\n«{begin}\n{line}\n{line}\nabcd1234==\n{end}»\nafter"));
        add(PrivateKey, &format!(r#"{{"private_key": "«{begin}\n{line}\n{line}\nabcd==\n{end}»\n", "x": 1}}"#));
        add(PrivateKey, &format!("     1→«{begin}\n     2→{line}\n     3→{line}\n     4→{end}»\n"));
        add(PrivateKey, &format!("+«{begin}\n+{line}\n+{end}»\n"));
        add(PrivateKey, &format!("cut off: «{begin}\n{line}\n{line}\nabcdEFGH12»\n\nand then it went on"));
        add(PrivateKey, &format!("cut off: «{begin}\n{line}\n{line}»"));
        add(PrivateKey, &format!(r#"{{"k":"«{begin}\n{line}\n{line}»"}}"#));
        add(PrivateKey, &format!("«{begin}\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0011\n\n{line}\n{line}»\n"));
    }
    all
}

#[test]
fn what_a_name_announces_goes_and_the_rest_stays() {
    let mut wrong = Vec::new();
    for (kind, marked) in contextual() {
        let text = marked.replace(['«', '»'], "");
        let open = marked.find('«').unwrap();
        let close = marked.find('»').unwrap();
        let expected = format!("{}[redacted:{}]{}", &marked[..open], kind.name(), &marked[close + '»'.len_utf8()..]);
        let got = redact(&text);
        if got != expected {
            wrong.push(format!("{marked}\n     → {got}"));
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn two_beside_each_other_both_go() {
    let mut rng = Rng::new(6);
    let (github, stripe) =
        (["ghp", "_", &alnum(&mut rng, 36)].concat(), ["sk_live", "_", &alnum(&mut rng, 24)].concat());
    for (text, expected) in [
        (format!("https://{github}:x-oauth@host"), "https://[redacted:github-token]:[redacted:url-password]@host"),
        (format!("curl -u {stripe}: https://x"), "curl -u [redacted:stripe-key]: https://x"),
        (format!("{github} {stripe}"), "[redacted:github-token] [redacted:stripe-key]"),
        (format!("A={github}\nB_PASSWORD=hunter22"), "A=[redacted:github-token]\nB_PASSWORD=[redacted:password]"),
        (
            "Cookie: sid=a1b2c3d4e5; theme=dark; token=f6a7b8c9d0".into(),
            "Cookie: sid=[redacted:cookie]; theme=dark; token=[redacted:cookie]",
        ),
    ] {
        assert_eq!(redact(&text), expected);
    }
}

/// Texts that only look as if. `§` is taken out.
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

/// One line of what programs and people write, with chance in it but no credential.
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

/// The contract, for any text.
fn holds(text: &str) {
    let found = spans(text);
    let mut rest = 0;
    let mut kept = String::new();
    for span in &found {
        assert!(rest <= span.range.start && span.range.start < span.range.end, "{span:?} in {text:?}");
        kept.push_str(&text[rest..span.range.start]);
        kept.push_str(&format!("[redacted:{}]", span.kind.name()));
        rest = span.range.end;
    }
    kept.push_str(&text[rest..]);
    let once = redact(text);
    assert_eq!(once, kept);
    assert_eq!(redact(&once), once, "twice is not once, from {text:?}");
}

/// Pieces that rules react to, glued in any order.
fn pieces() -> Vec<String> {
    let mut rng = Rng::new(4);
    let mut all: Vec<String> = shaped(&mut rng).into_iter().map(|(_, text)| text).collect();
    all.extend(contextual().into_iter().map(|(_, text)| text.replace(['«', '»'], "")));
    for piece in [
        "password",
        "token",
        "secret_key",
        "auth",
        "Cookie",
        "Authorization",
        "Bearer ",
        "Basic ",
        "=",
        ": ",
        ":",
        "==",
        "\"",
        "'",
        "`",
        "\\",
        "\\\"",
        "\n",
        " ",
        "  ",
        ",",
        ";",
        "&",
        "?",
        "<",
        ">",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "$",
        "%",
        "@",
        "://",
        "https://",
        "value",
        "name",
        "--",
        "-u ",
        "curl ",
        "hunter22",
        "abc12345",
        "[redacted:",
        "[redacted:token]",
        "-----BE§GIN PRIVATE KEY-----",
        "-----END PRIVATE KEY-----",
        "-----",
        "eyJ",
        "sk-",
        "ghp_",
        ".",
        "é",
        "→",
        "密",
        "\u{1b}[1m",
        "12345678",
        ":AA",
        "x",
        "1",
        "A",
        "|",
        ">-\n",
        "**",
        "\\n",
        "sig=",
        "otpauth://",
        "secret=",
    ] {
        all.push(piece.replace('§', ""));
    }
    all
}

#[test]
fn the_contract_holds_for_credentials_run_together() {
    let pieces = pieces();
    let mut rng = Rng::new(5);
    for _ in 0..20_000 {
        let text: String = (0..rng.below(9) + 1).map(|_| rng.pick(&pieces).as_str()).collect();
        holds(&text);
        // And cut anywhere, as a limit on length would.
        let cut = text.floor_char_boundary(rng.below(text.len() + 1));
        holds(&text[..cut]);
        holds(&text[cut..]);
    }
}

proptest! {
    #[test]
    fn the_contract_holds_for_any_text(text in any::<String>()) {
        holds(&text);
    }

    #[test]
    fn the_contract_holds_for_text_of_signs(text in "[a-z0-9=:\"'\\\\ \n\\-_.@/&?<>\\[\\]{}$%é]{0,80}", key in "(pass|token|auth|Cookie|secret|api_key)[:=]? ?") {
        holds(&format!("{key}{text}"));
    }
}

/// Texts made to be walked again and again. Doing them at all in a debug build is the test; a rule that goes back or
/// looks ahead without a bound takes minutes.
#[test]
fn hostile_text_is_walked_once() {
    let jwt = format!("{}.{}", "eyJ-".repeat(1 << 17), "eyJ-".repeat(1 << 17));
    for (what, size) in [
        ("a", 1 << 20),
        ("=", 1 << 20),
        ("-----BEGIN", 1 << 20),
        ("-----BE§GIN PRIVATE KEY-----", 1 << 20),
        ("://", 1 << 20),
        ("eyJ-", 1 << 20),
        ("eyJabc.", 1 << 20),
        ("token", 1 << 20),
        ("token=\"", 1 << 18),
        ("token=", 1 << 18),
        ("token='\\", 1 << 18),
        ("\\", 1 << 20),
        ("Cookie=a;", 1 << 18),
        ("sk-", 1 << 20),
        ("ghp_", 1 << 20),
        ("A://a:", 1 << 18),
        ("otpauth://", 1 << 18),
        (" curl -u ", 1 << 18),
        ("bearer ", 1 << 20),
        ("MTEz", 1 << 20),
        ("[redacted:", 1 << 20),
        ("token_", 1 << 20),
        ("1//0", 1 << 20),
        ("xoxb-1a", 1 << 18),
        ("12345678:AA", 1 << 20),
        ("password \\\n", 1 << 20),
    ] {
        holds_once(&what.replace('§', "").repeat(size / what.len()));
    }
    holds_once(&jwt);
    holds_once(&format!("-----BEGIN {} KEY-----{}", "PRIVATE", "a\n".repeat(1 << 19)));
}

fn holds_once(text: &str) {
    let found = spans(text);
    assert!(found.windows(2).all(|two| two[0].range.end <= two[1].range.start));
}

#[test]
fn ordinary_text_is_borrowed() {
    assert!(matches!(redact("nothing to see"), std::borrow::Cow::Borrowed(_)));
    assert_eq!(redact(""), "");
}

#[test]
fn the_names_of_kinds_are_words_and_no_two_are_the_same() {
    let names: BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(names.len(), Kind::ALL.len());
    assert!(names.iter().all(|n| n.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')));
}

/// Real conversations are where false alarms show. `REDACT_SHOW=1` prints what is found, to be read.
#[test]
fn real_conversations_contain_next_to_none() {
    let Some(shared) = shared() else { return };
    let (mut folders, mut bytes, mut found) = (vec![shared.join("transcripts"), shared.join("harness/samples")], 0, 0);
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            println!("skipped: there is no {}", folder.display());
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if let Ok(text) = std::fs::read_to_string(&path) {
                bytes += text.len();
                for span in spans(&text) {
                    found += 1;
                    if std::env::var_os("REDACT_SHOW").is_some() {
                        let from = text.floor_char_boundary(span.range.start.saturating_sub(60));
                        let to = text.ceil_char_boundary(span.range.end + 20);
                        println!("{} {}: {:?}", path.display(), span.kind.name(), &text[from..to]);
                    }
                }
            }
        }
    }
    println!("{found} spans in {bytes} bytes");
    assert!(found * 10_000 <= bytes, "{found} spans in {bytes} bytes: read them with REDACT_SHOW=1");
}
