//! Every credential here is assembled while the test runs, so that the source contains none.

use std::collections::BTreeSet;

use heirloom_testkit::{Rng, recordings};
use proptest::prelude::*;

mod benign;
mod shaped;

use self::shaped::{alnum, hex, shaped};
use super::{Kind, redact, spans};

/// Contexts a credential may appear in; `@` is its position.
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
                // Caches name their files `cache-key-` and 32 hex digits.
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
fn every_rule_of_the_rule_set_says_where_it_comes_from_and_has_an_example() {
    let examples = shaped(&mut Rng::new(3));
    for (kind, heads, source) in super::rules::TOKENS.iter().filter_map(|rule| rule.token()) {
        assert!(source.contains('.') || source.starts_with("gitleaks "), "{kind:?}: {source}");
        let known = examples.iter().any(|(of, text)| *of == kind && heads.iter().any(|head| text.starts_with(head)));
        assert!(known || Kind::ALL.contains(&kind) && examples.iter().any(|(of, _)| *of == kind), "{kind:?} {heads:?}");
    }
}

/// Passwords told in a sentence; the part in `«»` must be redacted.
const TOLD: &[&str] = &[
    "my password is «hunter2»",
    "My password is «hunter22», don't tell anyone",
    "the password is «Tr0ub4dor&3».",
    "The wifi password is «blue-Kettle-42»",
    "the password for the guest wifi is «Sunny!day9».",
    "password was «hunter2» and it worked",
    "our passphrase is «correcthorsebattery».",
    "my password is: \"«two words»\"",
    "my password is: «open sesame»",
    "our passphrase is: «correct horse battery staple».",
    "the root password is «Swordfish»",
    "The old password was «Swordfish», the new one is in the vault.",
    "my PIN is «4831»",
    "the PIN is «4831».",
    "Mein Passwort ist «geheim123».",
    "das Passwort fürs WLAN lautet «Sommer!2024»",
    "Unser Kennwort lautet «Blaubeere7»",
    "mon mot de passe est «soleil2024»",
    "mi contraseña es «Madrid2024!»",
    "la contraseña del servidor es «x9!kLmn2».",
    "la mia password è «estate2024»",
    "minha senha é «verao2024»",
    "mijn wachtwoord is «zomer2024»",
    "moje hasło to «lato2024x»",
    "mitt lösenord är «sommar2024»",
    "min adgangskode er «sommer2024»",
    "мой пароль это «leto2024x»",
    "我的密码是«hunter22»",
    "パスワードは«hunter22»。",
    "{\"text\":\"my password is «hunter2»\\nthanks\"}",
    // The sentence goes on.
    "The password is «Q7xfNHLnCeBnS3» today",
    "the password is «hunter2» until Friday",
    "please use: the wifi password is «Q7xfNHLnCeBnS6» for guests",
    "Mein Passwort ist «Q7xfNHLnCeBnS7» heute",
    "Das Passwort lautet «sommer2024» heute abend",
    "La contraseña es «Q7xfNHLnCeBnS4» hoy",
    "Het wachtwoord is «Q7xfNHLnCeBnS5» vandaag",
    "le mot de passe est «soleil24» pour ce soir",
    "пароль это «leto2024» сегодня",
    "パスワードは«Q7xGdgjw2anVZv» walrus",
    "the PIN code is «7391582» walrus",
    "PIN is «739158»",
    // A colon, or nothing, between the name and the password.
    "Passwort: «Q7xfNHLnCeBnS9»",
    "Passwort: «sommer24»",
    "Password: «Q7xfNHLnCeBnSa»",
    "**Kennwort:** «blau3-Kessel»",
    "contraseña: «Q7xfNHLnCeBnSe»",
    "mot de passe : «Q7xfNHLnCeBnSd»",
    "Пароль: «Q7xfNHLnCeBnSc»",
    "мой пароль «Q7xfNHLnCeBnSc»",
    "wachtwoord: «zomer!24»",
    "pw: «Q7xfNHLnCeBnSf»",
    "api key: «q8Zk2mV0xL7rT4bN9c»",
    "PIN: «4831»",
    "Password «Q7xfNHLnCeBnSb»",
    "Password «hunter2»",
    "log in with user bob and password «Q7xfNHLnCeBnSb», then reload",
    "set password to «Q7xfNHLnCeBnSc».",
    "I changed the password to «hunter2».",
    "setze das Passwort auf «Q7xfNHLnCeBnSd»",
    "CREATE USER bob IDENTIFIED BY '«Q7xfNHLnCeBnSe»';",
    "alter user bob identified by \"«hunter2»\"",
    "my password is «correct horse battery staple»",
    "MY PASSWORD IS «hunter2»",
    "My Password Is «hunter2».",
    "THE PASSWORD IS «HUNTER2X» FOR THE GUESTS",
    "MEIN PASSWORT LAUTET «sommer24»",
    "My password is «blue kettle seven boats north».",
];

#[test]
fn passwords_told_in_a_sentence_are_found_in_many_languages() {
    for told in TOLD {
        let start = told.find('«').unwrap();
        let end = told.find('»').unwrap();
        let text = told.replace(['«', '»'], "");
        let found = redact(&text).into_owned();
        let expected = format!("{}[redacted:password]{}", &told[..start], &told[end + 2..]);
        assert_eq!(found, expected, "{told}");
    }
}

#[test]
fn webhooks_of_every_form_are_found() {
    for (head, tail) in [
        ("https://hooks.slack.com/services/", "T01ABCDEF23/B04ABCDEF56/q8Zk2mV0xL7rT4bN9cXw3E5z"),
        ("https://hooks.slack.com/workflows/", "T01ABCDEF23/A04ABCDEF56/401234567890123456/q8Zk2mV0xL7rT4bN9cXw3E5z"),
        ("https://hooks.slack.com/triggers/", "T01ABCDEF23/6204672533/q8Zk2mV0xL7rT4bN9cXw3E5z8a"),
        (
            "https://discord.com/api/webhooks/123456789012345678/",
            "q8Zk2mV0xL7rT4bN9cXw3E5zq8Zk2mV0xL7rT4bN9cXw3E5zabcdefghij0123",
        ),
        (
            "https://acme.webhook.office.com/webhookb2/",
            "3f2a9c1e-0b7d-4e55-9a41-6c1d2e3f4a5b@9c1d2e3f-0b7d-4e55-9a41-aabbccddeeff/IncomingWebhook/0f1e2d3c4b5a69788796a5b4c3d2e1f0/x",
        ),
        (
            "https://outlook.office.com/webhook/",
            "3f2a9c1e-0b7d-4e55-9a41-6c1d2e3f4a5b@9c1d2e3f-0b7d-4e55-9a41-aabbccddeeff/IncomingWebhook/0f1e2d3c4b5a69788796a5b4c3d2e1f0/3f2a9c1e-0b7d-4e55-9a41-6c1d2e3f4a5b",
        ),
        ("https://hooks.zapier.com/hooks/catch/", "123456/q8Zk2mV0xL7rT4bN9c"),
        ("https://hook.eu1.make.com/", "q8Zk2mV0xL7rT4bN9cq8Zk2mV0xL7rT4"),
    ] {
        let text = format!("post it to {head}{tail} please");
        let got = redact(&text);
        assert!(got.contains("[redacted:webhook]") && !got.contains(&tail[tail.len() - 12..]), "{got}");
    }
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

/// Returns texts in which the part in `«»` must be redacted, with the expected kind.
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
        "mysql -u root -p«Letmein1» shop",
        "mysqldump -h db -u root -p'«Letmein1»' shop > shop.sql",
        "docker exec db mariadb -uroot -p«Letmein1»",
        "sshpass -p «letmein» ssh root@10.0.0.1",
        "sshpass -p'«let me in»' ssh root@10.0.0.1",
        "docker login ghcr.io -u mara -p «letmein1»",
        "helm registry login registry.example.org -u mara -p «letmein1»\nhelm push x",
        "ngrok config add-authtoken «2abcDEFghi34567jklMNO_8pqr»",
        "machine api.example.org login mara password «letmein1»",
        "machine api.example.org\n  login mara\n  password «letmein1»\n",
        "export DB_PASSWORD=«abcDEF12345678ZZ…»\n",
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
    for text in [
        "api_key: «MADE»",
        "X-Api-Key: «MADE»",
        "apikey=«MADE»",
        "{'apiKey': '«MADE»'}",
        "?api_key=«MADE»&x=1",
        "https://maps.example.com/api?key=«MADEMADE»&x=1",
    ] {
        add(ApiKey, text);
    }
    for text in ["aws_secret_access_key = «AWS»", "AWS_SECRET_ACCESS_KEY=«AWS»", "\"SecretAccessKey\": \"«AWS»\""]
    {
        add(AwsSecret, text);
    }
    add(AzureKey, "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=«AZURE»;EndpointSuffix=core.windows.net");
    add(AzureKey, "Endpoint=sb://x.example/;SharedAccessKeyName=Root;SharedAccessKey=«AZURE»");
    add(AzureKey, "https://x.blob.example/c?sv=2022&sig=«AZURE»&se=2024");
    let signature = ["4a7d0b352ad6074d", "ce11"].concat() + &"0f1e2d3c4b5a".repeat(3) + "01234567";
    add(SignedUrl, &format!("https://s3.example/b/k?X-Amz-Expires=900&X-Amz-Signature=«{signature}»&x=1"));
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
    for name in ["PAGERDUTY_TOKEN", "ACCOUNT_TOKEN", "pagerdutyToken", "GITHUB_PAT", "AZURE_DEVOPS_EXT_PAT"] {
        add(Token, &format!("{name}=«MADE»"));
    }
    add(Authorization, "Authorization: SSWS «MADE»");
    add(Password, "redis-cli -h cache -a «hunter2x» ping");
    add(Password, "sqlcmd -S db -U sa -P «hunter2x» -Q 'select 1'");
    add(Password, "htpasswd -b .htpasswd bob «hunter2x»");
    add(Password, "htpasswd -c -B -C 12 -b '.htpasswd' bob '«hunter2x»'");
    add(Password, "docker run httpd htpasswd -nbB bob «hunter2x» > auth");
    add(AwsSecret, "aws configure set aws_secret_access_key «AWS» --profile x");
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

/// Asserts the properties that must hold for any text.
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

/// Returns pieces that rules react to, joined in any order by the tests.
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
        // The text is also cut anywhere, as a length limit would cut it.
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

/// Texts that would provoke repeated scans. The test is that they finish in a debug build: a rule that looks back or
/// ahead without a bound takes minutes.
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

/// Sessions recorded from the real programs, which are too private and too large for the repository.
mod recorded {
    use super::*;

    /// Real conversations show false alarms. `REDACT_SHOW=1` prints the findings for review.
    #[test]
    #[ignore = "needs the recorded sessions beside the repository: just real"]
    fn real_conversations_contain_next_to_none() {
        let shared = recordings();
        let (mut folders, mut bytes, mut found) =
            (vec![shared.join("transcripts"), shared.join("harness/samples")], 0, 0);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(&folder).unwrap() {
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
}
